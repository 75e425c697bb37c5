import type { Command } from "commander";
import { createContext } from "../context.ts";
import { EXIT, Failure } from "../failure.ts";
import type { Io, RawStreams } from "../io.ts";
import { APP, ASSET } from "./options.ts";

interface ExecFlags {
  readonly tty?: boolean;
  readonly user?: string;
  readonly workdir?: string;
}

export function addExec(program: Command, io: Io): void {
  program
    .command("exec")
    .description("run a command in an app's container, over the device's link")
    .argument(...ASSET)
    .argument(...APP)
    .argument("<command...>", "the command and its arguments, after --")
    .option("-t, --tty", "with a terminal; by itself if this is one")
    .option("-T, --no-tty", "without a terminal")
    .option("--user <user>", "user in the container, by name or UID[:GID]")
    .option("--workdir <path>", "working directory in the container")
    .addHelpText("after", HELP)
    .action(async (asset: string, app: string, words: string[], flags: ExecFlags, command: Command) => {
      const context = createContext(io, command);
      const [{ openConnection }, { runRemotely }] = await Promise.all([
        import("../streams/open.ts"),
        import("../streams/exec.ts"),
      ]);
      const streams = rawStreams(io);
      const isTerminal = streams.stdin.isTTY === true && streams.stdout.isTTY === true;
      using connection = await openConnection(context, asset, app);
      const params = {
        command: words,
        tty: flags.tty ?? isTerminal,
        ...(flags.user !== undefined && { user: flags.user }),
        ...(flags.workdir !== undefined && { working_dir: flags.workdir }),
      };
      await runRemotely(connection, params, streams, io.interrupted);
    });
}

function rawStreams({ raw }: Io): RawStreams {
  if (raw) return raw;
  throw new Failure("There is no input and output to run a command with.", { exitCode: EXIT.failed });
}

const HELP = `
The device's owner has to allow it (policy.remote_access: exec in its
configuration), and the API key needs the permission "exec". The exit code is
the command's. When edgectl ends first, the command is killed.

Examples:
  edgectl exec GW-0001 web -- ls -l /etc
  edgectl exec GW-0001 web -- sh`;
