import type { Command } from "commander";
import { type BodyOf, requestOf } from "../api/request.ts";
import { connect, createContext } from "../context.ts";
import { buildAppRequest, secretsWithoutValue } from "../deploy/app-request.ts";
import { type AppOptions, readAppFile, readAppFlags } from "../deploy/read-app.ts";
import { type ExecutionOptions, readExecutionOptions } from "../deploy/execution-options.ts";
import { type FollowFlags, requestDeployment } from "../runs/run-deployment.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { addAppOptions, addExecutionOptions } from "./app-options.ts";
import { addFollowOptions, ASSET, timingsOption } from "./options.ts";

const DEPLOY = "POST /v1/assets/{asset_id}/edge/apps";

type DeployOptions = AppOptions & ExecutionOptions & FollowFlags;

export function addDeploy(program: Command, io: Io): void {
  const deploy = program
    .command("deploy")
    .description("deploy an app to an asset's device and show how it goes")
    .argument(...ASSET)
    .argument("[args...]", "arguments in place of the image's own command; write -- before them")
    .option("-f, --app-file <file>", "the app as JSON, as the API takes it; - for standard input")
    .option("--name <name>", "name of the app");
  addFollowOptions(addExecutionOptions(addAppOptions(deploy)), "the deployment")
    .addOption(timingsOption())
    .addHelpText("after", HELP)
    .action(async (asset: string, args: string[], options: DeployOptions, command: Command) => {
      const context = createContext(io, command);
      const { image, name } = options;
      const file = options.appFile;
      if (file === undefined && (image === undefined || name === undefined)) {
        throw usageFailure("No app to deploy is given.", "Give an app file with -f, or both --name and --image.");
      }
      const app = buildAppRequest(file === undefined ? undefined : await readAppFile(file, io), {
        ...(await readAppFlags(options, args, io)),
      });
      const missing = secretsWithoutValue(app);
      if (missing[0] !== undefined) {
        throw usageFailure(
          `The secret ${missing[0]} has no value.`,
          `Set ${missing[0]} in this shell, or in the file.`,
        );
      }
      // Sent as the file has it: the service says what it refuses.
      const body = { ...app, ...(await readExecutionOptions(options, io)) } as BodyOf<typeof DEPLOY>;
      const client = await connect(context);
      const query = { dry_run: options.dryRun ? "true" : undefined };
      const request = requestOf(DEPLOY, { path: { asset_id: asset }, query, body });
      await requestDeployment(context, client, asset, request, options);
    });
}

const HELP = `
What is given here wins over the file. A variable, port, volume, file or device
replaces the app file's entry of the same variable, container port or container
path; others are added to it.
Sizes: 50MB is 50,000,000 bytes, 256MiB is 268,435,456.

The registry's password can also stand in EDGECTL_REGISTRY_PASSWORD.
Ctrl-C ends the command, not the deployment.

Examples:
  edgectl deploy GW-0001 --name web --image nginx:1.29 --port 30080:80
  edgectl deploy GW-0001 -f app.json --env LOG_LEVEL=debug
  edgectl deploy GW-0001 -f app.json --dry-run
  edgectl deploy GW-0001 -f app.json --timings
  edgectl deploy GW-0001 --name mqtt --image mosquitto:2 \\
    --file ./mosquitto.conf:/mosquitto/config/mosquitto.conf
  edgectl deploy GW-0001 --name nr --image node-red:4.1 -- node-red --safe
  API_TOKEN=… edgectl deploy GW-0001 -f app.json --secret-env API_TOKEN`;
