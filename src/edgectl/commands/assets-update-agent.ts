import { type Command } from "commander";
import { requestOf } from "../api/request.ts";
import { connect, createContext } from "../context.ts";
import { type ExecutionOptions, readExecutionOptions } from "../deploy/execution-options.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { type FollowFlags, requestDeployment } from "../runs/run-deployment.ts";
import { addExecutionOptions } from "./app-options.ts";
import { addFollowOptions, ASSET, timingsOption } from "./options.ts";

interface UpdateAgentOptions extends ExecutionOptions, FollowFlags {
  readonly release?: string;
  readonly image?: string;
  readonly downgrade?: boolean;
  readonly again?: boolean;
}

export function addAssetsUpdateAgent(assets: Command, io: Io): void {
  const update = assets
    .command("update-agent")
    .description("bring the agent of a device to another version; it goes back by itself if that does not work")
    .argument(...ASSET)
    .option("--release <version>", "version of a release that the service serves, such as 1.5.0")
    .option("--image <reference>", "a release in a registry, such as registry.example.com/team/edge-agent:1.5.0")
    .option("--downgrade", "also to an older version, if the device allows that")
    .option("--again", "also to one that the device has tried before and set aside");
  addFollowOptions(addExecutionOptions(update), "the update")
    .addOption(timingsOption())
    .addHelpText("after", HELP)
    .action(async (asset: string, options: UpdateAgentOptions, command: Command) => {
      const context = createContext(io, command);
      const { release: version, image, downgrade, again } = options;
      if ((version === undefined) === (image === undefined))
        throw usageFailure(
          "Say which release: either its version or its image.",
          "Give --release VERSION or --image REF.",
        );
      const body = {
        ...(version === undefined ? { image } : { version }),
        ...(downgrade && { downgrade }),
        ...(again && { again }),
        ...(await readExecutionOptions(options, io)),
      };
      const client = await connect(context);
      const query = { dry_run: options.dryRun ? "true" : undefined };
      const request = requestOf("POST /v1/assets/{asset_id}/edge/agent", { path: { asset_id: asset }, query, body });
      await requestDeployment(context, client, asset, request, options);
    });
}

const HELP = `
The device takes only what one of its keys has signed. The new version runs on
trial: the command ends with its confirmation, or once the device has gone back.
Apps keep running. Takes a key of an admin, or of an operator if an admin lets
operators update agents.

Examples:
  edgectl assets update-agent GW-0001 --release 1.5.0 --dry-run
  edgectl assets update-agent GW-0001 --image registry.example.com/team/edge-agent:1.5.0
  edgectl assets update-agent GW-0001 --release 1.4.0 --downgrade`;
