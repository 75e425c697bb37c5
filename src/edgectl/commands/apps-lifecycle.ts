import type { Command } from "commander";
import { appsPath } from "../api/apps.ts";
import type { ApiRequest } from "../api/client.ts";
import { connect, createContext } from "../context.ts";
import { type FollowFlags, requestDeployment } from "../runs/run-deployment.ts";
import type { Io } from "../io.ts";
import { addFollowOptions, APP, ASSET, timingsOption, waitForDeviceOption } from "./options.ts";

interface LifecycleFlags extends FollowFlags {
  /** Seconds. */
  readonly waitForDevice?: number;
}

const LIFECYCLE_ACTIONS = [
  ["remove", "stop an app and remove it; its volumes and the device's directories that it used stay"],
  ["stop", "stop an app; it stays stopped, also over reboots"],
  ["start", "start an app that was stopped"],
  ["restart", "stop an app and start it again"],
] as const;

/** Adds `remove`, `stop`, `start` and `restart`. */
export function addAppsLifecycle(apps: Command, io: Io): void {
  for (const [action, description] of LIFECYCLE_ACTIONS) {
    const lifecycle = apps
      .command(action)
      .description(description)
      .argument(...ASSET)
      .argument(...APP);
    addFollowOptions(lifecycle.addOption(waitForDeviceOption()).addOption(timingsOption()), "it").action(
      async (asset: string, name: string, flags: LifecycleFlags, command: Command) => {
        const context = createContext(io, command);
        const client = await connect(context);
        await requestDeployment(context, client, asset, requestFor(action, asset, name, flags), flags);
      },
    );
  }
}

function requestFor(
  action: (typeof LIFECYCLE_ACTIONS)[number][0],
  asset: string,
  name: string,
  { waitForDevice }: LifecycleFlags,
): ApiRequest {
  const query = { wait_for_device_s: waitForDevice === undefined ? undefined : String(waitForDevice) };
  if (action === "remove") return { method: "DELETE", path: appsPath(asset, name), query };
  return { method: "POST", path: appsPath(asset, name, action), query };
}
