/** Long enough that a look at another tab costs no stream. */
const MIN_HIDDEN_MS = 60_000;

/**
 * Runs something while the tab is visible, with a signal that aborts when it was hidden for a minute: over HTTP/1.1 a
 * browser opens six connections to a server, and tabs in the background would take all of them. Returns a function that
 * ends it.
 */
export function whileVisible(run: (signal: AbortSignal) => void): () => void {
  let controller: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = (): void => {
    clearTimeout(timer);
    controller?.abort();
    controller = undefined;
  };
  const look = (): void => {
    clearTimeout(timer);
    if (document.visibilityState === "hidden") {
      timer = setTimeout(stop, MIN_HIDDEN_MS);
    } else if (!controller) {
      controller = new AbortController();
      run(controller.signal);
    }
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    document.removeEventListener("visibilitychange", look);
    stop();
  };
}
