import type { Command } from "commander";
import { appsPath } from "../api/apps.ts";
import type { ApiRequest } from "../api/client.ts";
import { openEventStream } from "../api/event-stream.ts";
import { connect, createContext } from "../context.ts";
import { runDeployment } from "../deploy/run-deployment.ts";
import type { Io } from "../io.ts";
import { APP, ASSET } from "./options.ts";
import { retryForOption } from "./retry-for.ts";

interface LifecycleOptions {
  readonly detach?: boolean;
  readonly retryFor: number;
}

const LIFECYCLE_ACTIONS = [
  ["remove", "stop an app and remove it; the device's own directories that it used stay"],
  ["stop", "stop an app; it stays stopped, also over reboots"],
  ["start", "start an app that was stopped"],
  ["restart", "stop an app and start it again"],
] as const;

/** `remove`, `stop`, `start` and `restart`: one word to the device, and how it goes. */
export function addAppsLifecycle(apps: Command, io: Io): void {
  for (const [action, description] of LIFECYCLE_ACTIONS) {
    apps
      .command(action)
      .description(description)
      .argument(...ASSET)
      .argument(...APP)
      .option("-d, --detach", "return as soon as the service has accepted it")
      .addOption(retryForOption())
      .action(async (asset: string, name: string, options: LifecycleOptions, command: Command) => {
        const context = createContext(io, command);
        const client = await connect(context);
        const request = { ...requestFor(action, asset, name), headers: { "Idempotency-Key": io.randomId() } };
        await runDeployment(context, client, {
          asset,
          start: () => openEventStream(client, request, io.clock, io.interrupted),
          ...(options.detach && { detach: true }),
          retryFor: options.retryFor,
        });
      });
  }
}

function requestFor(action: (typeof LIFECYCLE_ACTIONS)[number][0], asset: string, name: string): ApiRequest {
  if (action === "remove") return { method: "DELETE", path: appsPath(asset, name) };
  return { method: "POST", path: appsPath(asset, name, action) };
}
