import type { Command } from "commander";
import type { Register } from "./commands.ts";
import { withCommonOptions } from "./context.ts";
import { followDeployment } from "./follow-deployment.ts";

const EXIT_CODES = `
Exit codes: 0 done, 1 it failed, 3 the agent is not running, 4 there is no such app.`;

type Add = (program: Command, register: Register) => void;

export const addRestart = command(
  "restart",
  "stop an app and start it again",
  `
The same container, in another run; one that was removed is made anew. The app is watched until it has proved itself.`,
);

export const addStop = command(
  "stop",
  "stop an app, and keep it stopped",
  `
It has as long to end by itself as deploy.stop_grace_s says. It stays stopped, also over reboots, until it is started:
  edge-agent start node-red`,
);

export const addStart = command(
  "start",
  "start an app that was stopped",
  `
The app is watched until it has proved itself; if it does not, it is stopped again.`,
);

export const addRemove = command(
  "remove",
  "remove an app from the device",
  `
Stops it, removes its container and forgets the app. Data in the directories it mounts stays.`,
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
