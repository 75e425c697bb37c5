import type { Command } from "commander";
import { type Register, withCommonOptions } from "./context.ts";
import { DRY_RUN, dryRunQuery } from "./common-options.ts";
import { followDeployment, TIMINGS } from "./follow-deployment.ts";
import { readJson } from "./read-json.ts";

const HELP = `
Fields that the file leaves out stay as they are; lists are replaced as a whole, and an empty one clears. The new
version is pulled, checked and created while the old one runs. If it fails, the old one is restored. Ctrl-C ends the
command; the update continues.

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
    .option("--dry-run", DRY_RUN)
    .option("--timings", TIMINGS);
  register(withCommonOptions(command).addHelpText("after", HELP), async (context, app = "", options) => {
    const body = await readJson(String(options["file"]));
    const path = `/apps/${encodeURIComponent(app)}/update${dryRunQuery(options)}`;
    return followDeployment(context, path, body, { timings: options["timings"] === true });
  });
}
