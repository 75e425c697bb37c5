import type { Logger } from "../../lib/logger.ts";

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

/**
 * Runs `work` with an abort signal that SIGTERM or SIGINT triggers. A second one ends the process at once, as usual.
 */
export async function untilStopped(logger: Logger, work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals): void => {
    logger.info({ signal: name }, "asked to stop");
    for (const signal of SIGNALS) process.off(signal, stop);
    controller.abort(new DOMException(name, "AbortError"));
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  // The clock's timers do not keep the process alive while it waits for the next attempt.
  const keepAlive = setInterval(() => {}, 2 ** 30);
  try {
    await work(controller.signal);
  } finally {
    clearInterval(keepAlive);
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}
