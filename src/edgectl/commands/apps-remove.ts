import type { Command } from "commander";
import { requestOf } from "../api/request.ts";
import { requireAnswer } from "../confirm.ts";
import { connect, createContext } from "../context.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { removeProject } from "../runs/remove-project.ts";
import { type FollowFlags, requestDeployment } from "../runs/run-deployment.ts";
import { addFollowOptions, APP, ASSET, timingsOption, waitForDeviceOption } from "./options.ts";

interface RemoveFlags extends FollowFlags {
  readonly project?: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  /** Seconds. */
  readonly waitForDevice?: number;
}

const [, APP_DESCRIPTION, parseApp] = APP;

export function addAppsRemove(apps: Command, io: Io): void {
  const remove = apps
    .command("remove")
    .description("stop an app, or all of a project, and remove it; volumes and the device's directories stay")
    .argument(...ASSET)
    .argument("[app]", APP_DESCRIPTION, parseApp)
    .option("--project <name>", "all apps of this project, as one deployment: shows them, and asks")
    .option("-y, --yes", "with --project: do not ask")
    .option("--dry-run", "with --project: show what would be removed, and change nothing")
    .addOption(waitForDeviceOption())
    .addOption(timingsOption());
  addFollowOptions(remove, "it").action(
    async (asset: string, app: string | undefined, flags: RemoveFlags, command: Command): Promise<void> => {
      const context = createContext(io, command);
      const { project, yes = false, dryRun = false, waitForDevice: waitS } = flags;
      if ((app === undefined) === (project === undefined)) {
        throw usageFailure("Name either one app or a project.", "Give APP, or --project NAME for all of its apps.");
      }
      if (project !== undefined) {
        requireAnswer(context, yes || dryRun, "remove the apps");
        await removeProject(context, await connect(context), asset, project, { ...flags, yes, dryRun, waitS });
        return;
      }
      if (dryRun) throw usageFailure("--dry-run is for --project.", "One app is removed without more than itself.");
      const path = { asset_id: asset, name: app ?? "" };
      const query = { wait_for_device_s: waitS };
      const request = requestOf("DELETE /v1/assets/{asset_id}/edge/apps/{name}", { path, query });
      await requestDeployment(context, await connect(context), asset, request, flags);
    },
  );
}
