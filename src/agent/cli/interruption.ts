/** A signal that aborts at Ctrl-C, until disposed. A second Ctrl-C ends the process at once, as usual. */
export function onInterrupt(): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const interrupt = (): void => controller.abort(new DOMException("interrupted", "AbortError"));
  process.once("SIGINT", interrupt);
  return { signal: controller.signal, [Symbol.dispose]: () => void process.off("SIGINT", interrupt) };
}
