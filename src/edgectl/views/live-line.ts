import type { Output } from "../../lib/terminal/output.ts";

const RETURN_AND_CLEAR = "\r\u001B[2K";
const HIDE_CURSOR = "\u001B[?25l";
const SHOW_CURSOR = "\u001B[?25h";

/** One line at the bottom of a terminal that is rewritten in place. Dispose it to leave the terminal as it was. */
export class LiveLine implements Disposable {
  readonly #output: Output;
  #isShown = false;

  constructor(output: Output) {
    this.#output = output;
  }

  /** Shows `text`, which must fit into one line of the terminal. */
  show(text: string): void {
    this.#output.write(`${this.#isShown ? "" : HIDE_CURSOR}${RETURN_AND_CLEAR}${text}`);
    this.#isShown = true;
  }

  /** Takes the line away, so that others can write. */
  clear(): void {
    if (!this.#isShown) return;
    this.#output.write(`${RETURN_AND_CLEAR}${SHOW_CURSOR}`);
    this.#isShown = false;
  }

  [Symbol.dispose](): void {
    this.clear();
  }
}
