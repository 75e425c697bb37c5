import type { Command } from "commander";
import { openEventStream } from "../api/event-stream.ts";
import { apiPath } from "../api/path.ts";
import { connect, createContext } from "../context.ts";
import { parsePort } from "../deploy/parse-port.ts";
import { parseVolume } from "../deploy/parse-volume.ts";
import { type AppOptions, readApp } from "../deploy/read-app.ts";
import { runDeployment } from "../deploy/run-deployment.ts";
import type { Io } from "../io.ts";
import { collect } from "./options.ts";
import { retryForOption } from "./retry-for.ts";

interface DeployOptions extends AppOptions {
  readonly detach?: boolean;
  readonly retryFor: number;
}

export function addDeploy(program: Command, io: Io): void {
  program
    .command("deploy")
    .description("deploy an app to an asset's device and show how it goes")
    .argument("<asset>", "serial number, SIM SID, ICCID or UUID")
    .option("-f, --file <file>", "the app as JSON, as the API takes it; - for standard input")
    .option("--name <name>", "name of the app")
    .option("--image <image>", "container image")
    .option(
      "-p, --port <host:target>",
      "make a port of the app reachable, such as 30080:80 (repeatable)",
      collect(parsePort),
    )
    .option("-e, --env <key=value>", "set a variable; KEY alone takes this shell's value (repeatable)", collect(String))
    .option("--env-file <file>", "set variables from a file of KEY=VALUE lines (repeatable)", collect(String))
    .option("-v, --volume <local:target[:ro]>", "mount a path of the device (repeatable)", collect(parseVolume))
    .option("--host-network", "use the device's network directly")
    .option("--no-host-network", "do not, whatever the file says")
    .option("--privileged", "give the app all rights on the device")
    .option("--no-privileged", "do not, whatever the file says")
    .option("-d, --detach", "return as soon as the service has accepted the deployment")
    .addOption(retryForOption())
    .addHelpText("after", HELP)
    .action(async (asset: string, options: DeployOptions, command: Command) => {
      const context = createContext(io, command);
      const body = await readApp(options, io);
      const client = await connect(context);
      // The same key at every attempt: the service takes a repeated request for the one it knows.
      const headers = { "Idempotency-Key": io.randomId() };
      const path = apiPath("v1", "assets", asset, "edge", "apps");
      await runDeployment(context, client, {
        asset,
        start: () => openEventStream(client, { method: "POST", path, body, headers }, io.clock, io.interrupted),
        ...(options.detach && { detach: true }),
        retryFor: options.retryFor,
      });
    });
}

const HELP = `
What is given here wins over the file. A variable, port or volume replaces the
file's entry of the same variable, container port or container path; others are
added to it.

Ctrl-C ends the command, not the deployment.

Examples:
  edgectl deploy GW-0001 --name web --image nginx:1.29 --port 30080:80
  edgectl deploy GW-0001 -f app.json --env LOG_LEVEL=debug
  API_TOKEN=… edgectl deploy GW-0001 -f app.json --env API_TOKEN`;
