/** Calls `listener` when the signal aborts, at once if it already has. Dispose it to remove the listener. */
export function onAbort(signal: AbortSignal, listener: () => void): Disposable {
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", listener) };
}
