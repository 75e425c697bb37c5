import type { Command } from "commander";
import { plannedChangeSchema } from "../../protocol/apps/apply.ts";
import { z } from "zod";
import { type Register, withCommonOptions } from "./context.ts";
import { DRY_RUN, dryRunQuery } from "./common-options.ts";
import { followDeployment } from "./follow-deployment.ts";
import { readJson } from "./read-json.ts";

const HELP = `
Several apps as one deployment, without a control plane: what differs is changed in the order of depends_on, and if an app
fails, all of them become what they were before. The file is the request of the API to apply a group; "-" reads it from
standard input. It is applied without a question: --dry-run shows the changes before. Ctrl-C ends the command; the
deployment continues.

Example:
  edge-agent apply -f line.json

  line.json: { "project": "line-3", "apps": [
    { "app": { "name": "mosquitto", "image": "registry.example.com/mosquitto:2" } },
    { "app": { "name": "node-red", "image": "registry.example.com/node-red:4" },
      "depends_on": [{ "app": "mosquitto", "condition": "healthy" }] } ] }

Exit codes: 0 applied, or nothing differs, 1 the deployment failed, 2 the file cannot be used, 3 the agent is not running.`;

export function addApply(program: Command, register: Register): void {
  const command = program
    .command("apply")
    .description("make several apps as a file says, as one deployment, without a control plane")
    .requiredOption("-f, --file <file>", "file with the group of apps, as JSON; - for standard input")
    .option("--dry-run", DRY_RUN);
  register(withCommonOptions(command).addHelpText("after", HELP), async (context, _argument, options) => {
    const body = await readJson(String(options["file"]));
    return followDeployment(context, `/apply${dryRunQuery(options)}`, body, { toReadable: withReadablePlan });
  });
}

const WORDS = {
  create: "new",
  update: "changes",
  remove: "removed; its data stays",
  none: "nothing to change",
} as const;
const planSchema = z.array(plannedChangeSchema);

/** Replaces the changes of a dry run by one line for each app. */
function withReadablePlan(details: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const plan = planSchema.safeParse(details["plan"]);
  if (!plan.success) return details;
  const lines = plan.data.map(({ app, change, fields }) => {
    return `${app}: ${WORDS[change]}${fields.length > 0 ? ` (${fields.join(", ")})` : ""}`;
  });
  return { ...details, plan: lines };
}
