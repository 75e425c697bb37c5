/** Calls the listener once, when the signal aborts or at once where it has; not any more after it is disposed of. */
export function onAbort(signal: AbortSignal, listener: () => void): Disposable {
  if (signal.aborted) listener();
  else signal.addEventListener("abort", listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", listener) };
}
