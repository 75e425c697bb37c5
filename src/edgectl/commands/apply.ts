import type { Command } from "commander";
import { parseDesiredApp } from "../apply/read-app-file.ts";
import { applyApp } from "../apply/run.ts";
import { connect, type Context, createContext } from "../context.ts";
import { type ExecutionOptions, readExecutionOptions } from "../deploy/execution-options.ts";
import type { FollowFlags } from "../deploy/run-deployment.ts";
import { usageFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { readTextOrStdin } from "../read-text.ts";
import { addExecutionOptions } from "./app-options.ts";
import { addFollowOptions, ASSET } from "./options.ts";

interface ApplyFlags extends ExecutionOptions, FollowFlags {
  readonly file: string;
  readonly yes?: boolean;
  readonly reveal?: boolean;
}

export function addApply(program: Command, io: Io): void {
  const apply = program
    .command("apply")
    .description("make an app as its file says: show the difference, ask, deploy or update it")
    .argument(...ASSET)
    .requiredOption("-f, --file <file>", "the app as JSON, as the API takes it; - for standard input")
    .option("-y, --yes", "do not ask")
    .option("--reveal", "show the values of variables that are not declared secrets");
  addFollowOptions(addExecutionOptions(apply), "the deployment")
    .addHelpText("after", HELP)
    .action(async (asset: string, flags: ApplyFlags, command: Command) => {
      const context = createContext(io, command);
      const { file, yes = false, dryRun = false, reveal = false } = flags;
      if (!yes && !dryRun) requireTerminal(context, file);
      const { spec, options } = parseDesiredApp(
        await readTextOrStdin(file, io),
        file === "-" ? "Standard input" : file,
      );
      const execution = await readExecutionOptions(flags, io);
      const desired = { spec, options: { ...options, ...execution } };
      const client = await connect(context);
      await applyApp(context, client, asset, desired, { ...flags, yes, dryRun, showValues: reveal });
    });
}

/** Standard input must be free for the answer. */
function requireTerminal({ io }: Context, file: string): void {
  if (io.stdin.isTTY && file !== "-") return;
  throw usageFailure(
    "There is no terminal to ask on whether to apply the changes.",
    "Give --yes to apply them without asking, or --dry-run to see them.",
  );
}

const HELP = `
The file replaces the app: a field that is not in it gets its default, so what
the app has beyond the file is taken away. Where nothing differs, nothing is
sent. \`edgectl apps update\` changes single fields instead.

The device is asked for the app as it is now. Values of variables are compared
and not shown; --reveal shows those that are not declared secrets.

An image is not looked up again while its name stays the same. For a newer
image under the same tag: edgectl apps update ASSET APP --image IMAGE

Exit codes: 0 applied, or nothing differs, or a dry run that found no obstacle;
1 refused, failed, or the answer was no; 2 the file or the command line is
wrong, or there is no terminal to ask on. All others as for every command.

Examples:
  edgectl apply GW-0001 -f app.json
  edgectl apply GW-0001 -f app.json --dry-run
  edgectl apply GW-0001 -f app.json --yes`;
