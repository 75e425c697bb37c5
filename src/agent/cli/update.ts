import type { Command } from "commander";
import type { Register } from "./commands.ts";
import { withCommonOptions } from "./context.ts";
import { DRY_RUN, dryRunQuery } from "./dry-run.ts";
import { followDeployment } from "./follow-deployment.ts";
import { readJson } from "./read-json.ts";

const HELP = `
What the file leaves out stays as it is; lists are replaced whole, and an empty one clears. The new version is pulled,
checked and made ready while the old one runs. If it does not prove itself, the old one is brought back.
Ctrl-C leaves; the update goes on.

Example:
  edge-agent update web -f patch.json

  patch.json: { "image": "registry.example.com/web:2" }

Exit codes: 0 the new version runs, 1 the update failed, 2 the file cannot be used, 3 the agent is not running,
4 there is no such app.`;

export function addUpdate(program: Command, register: Register): void {
  const command = program
    .command("update <app>")
    .description("change an app by a file with what is to change, without a control plane")
    .requiredOption("-f, --file <file>", "file with the changes, as JSON; - for standard input")
    .option("--dry-run", DRY_RUN);
  register(withCommonOptions(command).addHelpText("after", HELP), async (context, app = "", options) => {
    const body = await readJson(String(options["file"]));
    return followDeployment(context, `/apps/${encodeURIComponent(app)}/update${dryRunQuery(options)}`, body);
  });
}
