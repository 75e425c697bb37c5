import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** How long a program may take to end when it was asked to, in milliseconds. */
const END_PATIENCE_MS = 10_000;

/**
 * Runs a program to its end. A signal that would end this process ends the program first: this process exits after it, with the
 * exit code of the signal.
 */
export async function runChild(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<Pick<ChildProcess, "exitCode" | "signalCode">> {
  const child = spawn(command, args, options);
  let received: NodeJS.Signals | undefined;
  const end = (signal: NodeJS.Signals): void => {
    received ??= signal;
    // On Ctrl-C the terminal has told it as well; one that is asked twice ends at once.
    if (signal !== "SIGINT") child.kill(signal);
    setTimeout(() => child.kill("SIGKILL"), END_PATIENCE_MS).unref();
  };
  for (const signal of SIGNALS) process.on(signal, end);
  try {
    await once(child, "exit");
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
  }
  if (received !== undefined) process.exit(128 + constants.signals[received]);
  return child;
}
