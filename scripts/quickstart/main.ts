import { parseArgs } from "node:util";
import { demonstrate } from "./demonstration.ts";
import { interruption, untilAborted } from "./interruption.ts";

const { once } = readOptions();
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

function readOptions(): { readonly once: boolean } {
  try {
    return parseArgs({ options: { once: { type: "boolean", default: false } } }).values;
  } catch (error) {
    console.error(
      `quickstart: ${(error as Error).message.split(". ")[0]}. Its one option is --once: show everything, then end.`,
    );
    process.exit(2);
  }
}
