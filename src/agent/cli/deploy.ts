import type { Command } from "commander";
import { type Register, withCommonOptions } from "./context.ts";
import { DRY_RUN, dryRunQuery } from "./common-options.ts";
import { followDeployment, TIMINGS } from "./follow-deployment.ts";
import { readJson } from "./read-json.ts";

const HELP = `
Deploys without a control plane, for tests and for sites with no link, with the same checks, steps and events. The file
is a request as the API takes it; "-" reads it from standard input. Ctrl-C ends the command; the deployment continues.

Example:
  edge-agent deploy -f app.json

  app.json: { "name": "web", "image": "registry.example.com/web:1",
              "ports": [{ "host_port": 30080, "target_port": 80 }] }

Exit codes: 0 the app runs, 1 the deployment failed, 2 the file cannot be used, 3 the agent is not running.`;

export function addDeploy(program: Command, register: Register): void {
  const command = program
    .command("deploy")
    .description("deploy an app from a file, without a control plane")
    .requiredOption("-f, --file <file>", "file with the app, as JSON; - for standard input")
    .option("--dry-run", DRY_RUN)
    .option("--timings", TIMINGS);
  register(withCommonOptions(command).addHelpText("after", HELP), async (context, _argument, options) => {
    const body = await readJson(String(options["file"]));
    return followDeployment(context, `/deployments${dryRunQuery(options)}`, body, {
      timings: options["timings"] === true,
    });
  });
}
