import { sanitizeOutput } from "./sanitize.ts";
import type { Output } from "./output.ts";
import type { Theme } from "./theme.ts";

// Switches to the terminal's alternate screen, which restores its content at the end, and hides the cursor.
const ENTER = "\u001B[?1049h\u001B[?25l";
const LEAVE = "\u001B[?25h\u001B[?1049l";
const HOME = "\u001B[H";
const REST_OF_LINE = "\u001B[K";
const REST_OF_SCREEN = "\u001B[J";

/**
 * Draws each value in place of the one before, until a person quits. The screen opens with the first value, so that an error before
 * it stays visible.
 *
 * @param follow begins to follow the values; its signal aborts when they are not wanted any more
 */
export async function drawEach<T>(
  { stdout, theme, interrupted }: { readonly stdout: Output; readonly theme: Theme; readonly interrupted: AbortSignal },
  follow: (signal: AbortSignal) => AsyncIterable<T>,
  render: (value: T) => string,
): Promise<void> {
  using keys = untilQuit(process.stdin);
  let screen: LiveScreen | undefined;
  try {
    for await (const value of follow(AbortSignal.any([interrupted, keys.signal]))) {
      screen ??= new LiveScreen(stdout, theme.hasColour);
      screen.draw(`${render(value)}\n\n${theme.dim("q to quit")}`);
    }
  } catch (error) {
    if (!keys.signal.aborted) throw error;
  } finally {
    screen?.[Symbol.dispose]();
  }
}

/** The terminal's alternate screen, on which a view is redrawn in place. Disposing it restores the screen. */
class LiveScreen implements Disposable {
  readonly #output: Output;
  readonly #hasColour: boolean;

  constructor(output: Output, hasColour: boolean) {
    this.#output = output;
    this.#hasColour = hasColour;
    output.write(ENTER);
  }

  /** Draws a text in place of the one before. What does not fit into the rows of the terminal is cut off. */
  draw(text: string): void {
    const rows = text.split("\n").slice(0, rowsOfTerminal());
    const safe = rows.map((row) => sanitizeOutput(row, this.#hasColour));
    this.#output.write(`${HOME}${safe.map((row) => row + REST_OF_LINE).join("\r\n")}${REST_OF_SCREEN}`);
  }

  [Symbol.dispose](): void {
    this.#output.write(LEAVE);
  }
}

/** Some terminals report 0 rows. */
function rowsOfTerminal(): number {
  return process.stdout.rows || 24;
}

// In raw mode, Ctrl-C is a character.
const QUIT = ["q", "Q", "\u0003"];

/** Returns a signal that aborts when q or Ctrl-C is typed, until disposed. Puts a terminal into raw mode. */
function untilQuit(input: NodeJS.ReadStream): { readonly signal: AbortSignal } & Disposable {
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
