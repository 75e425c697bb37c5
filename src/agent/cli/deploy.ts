import type { Command } from "commander";
import type { Register } from "./commands.ts";
import { withCommonOptions } from "./context.ts";
import { DRY_RUN, dryRunQuery } from "./dry-run.ts";
import { followDeployment } from "./follow-deployment.ts";
import { readJson } from "./read-json.ts";

const HELP = `
Deploys without a control plane, for the bench and the site with no link: the same checks, steps and events as
ever. The file holds what the API takes; "-" reads it from standard input. Ctrl-C leaves; the deployment goes on.

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
    .option("--dry-run", DRY_RUN);
  register(withCommonOptions(command).addHelpText("after", HELP), async (context, _argument, options) => {
    const body = await readJson(String(options["file"]));
    return followDeployment(context, `/deployments${dryRunQuery(options)}`, body);
  });
}
