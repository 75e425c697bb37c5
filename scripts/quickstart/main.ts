import { demonstrate } from "./demonstration.ts";
import { interruption, untilAborted } from "./interruption.ts";

const once = process.argv.includes("--once");
using interrupted = interruption();
const { signal } = interrupted;
const owner = new AsyncDisposableStack();
try {
  await demonstrate(owner, signal);
  if (!once) await untilAborted(signal);
} catch (error) {
  process.exitCode = 1;
  if (!signal.aborted) console.error(error instanceof Error ? error.message : error);
} finally {
  console.log("\nStopping, and removing what was made …");
  await owner.disposeAsync();
}
