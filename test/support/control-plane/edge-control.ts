import { run } from "../../../src/control-plane/cli/run.ts";
import { databaseCommands } from "../../../src/control-plane/database-commands.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { MemoryOutput } from "../edgectl/memory-output.ts";

async function serve(): Promise<void> {
  throw new Error("a server needs a process of its own");
}

/**
 * Runs an administration command of edge-control to its end, in this process: one of its own takes longer to start than most
 * commands to run.
 */
export async function edgeControl(...args: readonly string[]) {
  const [stdout, stderr] = [new MemoryOutput(), new MemoryOutput()];
  const context = { ...databaseCommands(stderr), serve, clock: systemClock, stdout };
  const code = await run(args, context, stderr);
  return { code, stdout: stdout.text, stderr: stderr.text };
}
