import type { Command } from "commander";
import { type Register, withCommonOptions } from "./context.ts";
import { followDeployment } from "./follow-deployment.ts";

const EXIT_CODES = `
Exit codes: 0 done, 1 it failed, 3 the agent is not running, 4 there is no such app.`;

type Add = (program: Command, register: Register) => void;

export const addRestart = command(
  "restart",
  "stop an app and start it again",
  `
Restarts the same container; creates it again if it was removed. Watches the app until it is known to run.`,
);

export const addStop = command(
  "stop",
  "stop an app, and keep it stopped",
  `
Kills the app if it has not ended after deploy.stop_grace_s. It stays stopped, also after reboots, until it is started:
  edge-agent start node-red`,
);

export const addStart = command(
  "start",
  "start an app that was stopped",
  `
Watches the app until it is known to run; stops it again if it fails.`,
);

export const addRemove = command(
  "remove",
  "remove an app from the device",
  `
Stops the app, and removes it and its container. Data in the directories it mounts stays.`,
);

/** Creates a command for one action on one app. */
function command(action: string, description: string, help: string): Add {
  return (program, register) => {
    const added = program.command(`${action} <app>`).description(description);
    register(withCommonOptions(added).addHelpText("after", `${help}\n${EXIT_CODES}`), (context, app = "") =>
      followDeployment(context, `/apps/${encodeURIComponent(app)}/${action}`),
    );
  };
}
