import { join } from "node:path";
import { run as runCommand } from "../../../src/control-plane/cli/run.ts";
import { databaseCommands } from "../../../src/control-plane/database-commands.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { run } from "../command.ts";
import { MemoryOutput } from "../edgectl/memory-output.ts";

const MAIN = join(import.meta.dirname, "../../../src/control-plane/main.ts");

/**
 * Runs a command of edge-control to its end. Administration runs in this process: one of its own takes longer to start than
 * most commands to run. A server, which is to refuse to start, is a process.
 */
export async function edgeControl(...args: readonly string[]): ReturnType<typeof run> {
  if (args[0] === "serve") return await run(process.execPath, [MAIN, ...args]);
  const [stdout, stderr] = [new MemoryOutput(), new MemoryOutput()];
  const context = { ...databaseCommands(stderr), serve: unavailable, clock: systemClock, stdout };
  const code = await runCommand(args, context, stderr);
  return { code, stdout: stdout.text, stderr: stderr.text };
}

async function unavailable(): Promise<never> {
  throw new Error("a server needs a process of its own");
}
