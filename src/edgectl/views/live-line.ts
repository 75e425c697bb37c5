import type { Output } from "../../lib/terminal/output.ts";

const RETURN_AND_CLEAR = "\r\u001B[2K";
const HIDE_CURSOR = "\u001B[?25l";
const SHOW_CURSOR = "\u001B[?25h";

/** One line at the bottom of a terminal that is rewritten in place. Dispose it to restore the terminal. */
export class LiveLine implements Disposable {
  readonly #output: Output;
  #isShown = false;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Shows `text`, which must fit into one line. */
  show(text: string): void {
    this.#output.write(`${this.#isShown ? "" : HIDE_CURSOR}${RETURN_AND_CLEAR}${text}`);
    this.#isShown = true;
  }

  /** Removes the line, so that other output can be written. */
  clear(): void {
    if (!this.#isShown) return;
    this.#output.write(`${RETURN_AND_CLEAR}${SHOW_CURSOR}`);
    this.#isShown = false;
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}
