import { parseArgs } from "node:util";
import { setUpQuickstart } from "../setup/set-up.ts";
import { demonstrate } from "./demonstration.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const { once } = readOptions();
await setUpQuickstart();
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
  console.log("\nStopping and cleaning up …");
  await owner.disposeAsync();
}

function readOptions(): { readonly once: boolean } {
  try {
    return parseArgs({ options: { once: { type: "boolean", default: false } } }).values;
  } catch (error) {
    console.error(
      `quickstart: ${(error as Error).message.split(". ")[0]}. The only option is --once: exit after the demonstration.`,
    );
    process.exit(2);
  }
}

/** Aborts on a signal that would end this process. Until disposed, the signals have no other effect. */
function interruption(): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const abort = (): void => controller.abort(new DOMException("interrupted", "AbortError"));
  for (const name of SIGNALS) process.on(name, abort);
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const name of SIGNALS) process.off(name, abort);
    },
  };
}

/** Resolves when the signal aborts. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  // Signal listeners do not keep the process alive.
  const timer = setInterval(() => {}, 2 ** 30);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearInterval(timer);
}
