import { resolve } from "node:path";
import type { Command } from "commander";
import { getFleet } from "../api/fleets.ts";
import { requireAnswer } from "../confirm.ts";
import { connect, createContext } from "../context.ts";
import { usageFailure } from "../failure.ts";
import { readFleetFile } from "../fleets/fleet-file.ts";
import { applyFleet } from "../runs/apply-fleet.ts";
import { type Io, readTextOrStdin } from "../io.ts";
import { retryForOption } from "./options.ts";
import { rollOut } from "./rollouts-create.ts";

interface ApplyFlags {
  readonly file: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly rollOut?: boolean;
  readonly retryFor: number;
}

export function addFleetsApply(fleets: Command, io: Io): void {
  fleets
    .command("apply")
    .description("make a fleet as a file says: show the difference, ask, change the fleet and make a revision")
    .requiredOption("-f, --file <file>", "the fleet, as YAML or JSON; - for standard input")
    .option("-y, --yes", "do not ask")
    .option("--dry-run", "show the difference, and change nothing")
    .option("--roll-out", "start a rollout of the revision, and show it until it ends")
    .addOption(retryForOption())
    .addHelpText("after", HELP)
    .action(async (flags: ApplyFlags, command: Command) => {
      const context = createContext(io, command);
      const { printer } = context;
      const { file, yes = false, dryRun = false, rollOut: isRollingOut = false } = flags;
      if (dryRun && isRollingOut) {
        throw usageFailure(
          "--dry-run changes nothing, so that there is nothing to roll out.",
          "What a rollout would cost: edgectl rollouts create FLEET --dry-run",
        );
      }
      if (!dryRun) {
        requireAnswer(context, yes, "apply the changes");
        if (!yes && file === "-") throw usageFailure("Standard input has the file, not the answer.", "Give --yes.");
      }
      const text = await readTextOrStdin(file, io);
      const fileName = file === "-" ? "Standard input" : file;
      const read = readFleetFile(text, { fileName, path: file === "-" ? undefined : resolve(file), env: io.env });
      const client = await connect(context);
      const { name } = read.fleet;
      const revision = await applyFleet(context, client, read, { dryRun, yes });
      if (revision === undefined) return;
      if (isRollingOut) {
        await rollOut(context, client, name, { revision }, { yes, follow: true, retryFor: flags.retryFor });
      } else if (!printer.json) {
        const { stable_revision: stable } = await getFleet(client, name);
        printer.line(
          stable === revision
            ? "It is the stable one, which its members have or get: there is nothing to roll out."
            : `To roll it out:\n  edgectl rollouts create ${name} --revision ${revision} --follow`,
        );
      }
    });
}

const HELP = `
The file has the fleet's name and everything about it: a field of the strategy
that is not in it gets its default. Nothing reaches a device before a revision
is rolled out.

  fleet: kiosks
  selector: role=kiosk,region!=south
  strategy:
    waves: [{limit: 5, advance: manual}, {limit: 20%}]
    stop_when: {failed: 5%}
    on_stop: rollback
  apps:
    kiosk-ui:
      image: registry.example.com/team/kiosk-ui:4.1
      environments: [{key: SITE_ID, value: "\${SITE_ID}"}]
  absent: [old-player]
  agent: {version: 1.5.0}
  comment: Ticket printer

\`apps\` are written as in the file of several apps that \`edgectl apply\` takes.
\${NAME} in a value of \`environments\` is the variable of each asset. A declared
secret without a value gets that of this shell's variable of its name. Apps in
\`absent\` are removed from devices; apps that the file no longer names stay on
devices, and belong to no fleet. Values are compared and never shown.
\`agent\` is the version that the devices' agent must have at least: an older one
is updated before the apps, to a release of \`edgectl agent-releases list\`.

Exit codes: 0 applied, or nothing differs, or a dry run; with --roll-out: the
rollout succeeded. 1 refused, the answer was no, or the rollout ended otherwise;
2 the file or the command line is wrong. All others as for every command.`;
