const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Aborts when somebody presses Ctrl-C or ends this process otherwise. Until it is disposed of, nothing else happens then. */
export function interruption(): { readonly signal: AbortSignal } & Disposable {
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
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  // A listener for signals alone does not keep the process alive.
  const timer = setInterval(() => {}, 2 ** 30);
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearInterval(timer);
}
