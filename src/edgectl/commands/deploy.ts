import type { Command } from "commander";
import { appsPath } from "../api/apps.ts";
import { openEventStream } from "../api/event-stream.ts";
import { connect, createContext } from "../context.ts";
import { buildAppRequest } from "../deploy/app-request.ts";
import { type AppOptions, readAppFile, readAppFlags } from "../deploy/read-app.ts";
import { type ExecutionOptions, readExecutionOptions } from "../deploy/execution-options.ts";
import { runDeployment } from "../deploy/run-deployment.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { addAppOptions, addExecutionOptions } from "./app-options.ts";
import { ASSET } from "./options.ts";
import { retryForOption } from "./retry-for.ts";

interface DeployOptions extends AppOptions, ExecutionOptions {
  readonly detach?: boolean;
  readonly retryFor: number;
}

export function addDeploy(program: Command, io: Io): void {
  const deploy = program
    .command("deploy")
    .description("deploy an app to an asset's device and show how it goes")
    .argument(...ASSET)
    .argument("[args...]", "arguments in place of the image's own command; write -- before them")
    .option("-f, --file <file>", "the app as JSON, as the API takes it; - for standard input")
    .option("--name <name>", "name of the app");
  addExecutionOptions(addAppOptions(deploy))
    .option("-d, --detach", "return as soon as the service has accepted the deployment")
    .addOption(retryForOption())
    .addHelpText("after", HELP)
    .action(async (asset: string, args: string[], options: DeployOptions, command: Command) => {
      const context = createContext(io, command);
      const { file, image, name } = options;
      if (file === undefined && (image === undefined || name === undefined)) {
        throw usageFailure("It is not said what to deploy.", "Give an app file with -f, or both --name and --image.");
      }
      const app = buildAppRequest(file === undefined ? undefined : await readAppFile(file, io), {
        ...(await readAppFlags(options, args, io)),
      });
      const body = { ...app, ...(await readExecutionOptions(options, io)) };
      const client = await connect(context);
      // The same key at every attempt: the service takes a repeated request for the one it knows.
      const headers = { "Idempotency-Key": io.randomId() };
      const query = { dry_run: options.dryRun ? "true" : undefined };
      const request = { method: "POST", path: appsPath(asset), query, body, headers } as const;
      await runDeployment(context, client, {
        asset,
        start: () => openEventStream(client, request, io.clock, io.interrupted),
        ...(options.detach && { detach: true }),
        retryFor: options.retryFor,
      });
    });
}

const HELP = `
What is given here wins over the file. A variable, port, volume or device
replaces the file's entry of the same variable, container port or container
path; others are added to it.
Sizes: 50MB is 50,000,000 bytes, 256MiB is 268,435,456.

The registry's password can also stand in EDGECTL_REGISTRY_PASSWORD.
Ctrl-C ends the command, not the deployment.

Examples:
  edgectl deploy GW-0001 --name web --image nginx:1.29 --port 30080:80
  edgectl deploy GW-0001 -f app.json --env LOG_LEVEL=debug
  edgectl deploy GW-0001 -f app.json --dry-run
  edgectl deploy GW-0001 --name nr --image node-red:4.1 -- node-red --safe
  API_TOKEN=… edgectl deploy GW-0001 -f app.json --env API_TOKEN`;
