// A terminal in raw mode hands on Ctrl-C as it is.
const QUIT = ["q", "Q", "\u0003"];

/** Aborts when q or Ctrl-C is typed, until disposed. Keys are taken as they are typed and not shown, on a terminal. */
export function untilQuit(input: NodeJS.ReadStream): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const take = (key: Buffer): void => {
    if (QUIT.some((one) => key.includes(one))) controller.abort(new DOMException("asked to end", "AbortError"));
  };
  const isTerminal = input.isTTY;
  if (isTerminal) {
    input.setRawMode(true);
    input.on("data", take);
    input.resume();
  }
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      if (!isTerminal) return;
      input.off("data", take);
      input.setRawMode(false);
      input.pause();
    },
  };
}
