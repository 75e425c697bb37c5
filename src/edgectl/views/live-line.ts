import type { Theme } from "../../lib/terminal/theme.ts";
import type { Output } from "../../lib/terminal/output.ts";

/** Renders a progress bar of `width` columns. @param fraction filled share, from 0 to 1 */
export function renderBar(fraction: number, width: number, theme: Theme): string {
  const full = Math.round(Math.min(1, Math.max(0, fraction)) * width);
  return theme.cyan(theme.barFull.repeat(full)) + theme.dim(theme.barEmpty.repeat(width - full));
}

/** Renders a chart's bar without colour or background; at least one column for a fraction above zero. */
export function renderChartBar(fraction: number, width: number, theme: Pick<Theme, "barFull">): string {
  const full = fraction > 0 ? Math.max(1, Math.round(Math.min(1, fraction) * width)) : 0;
  return theme.barFull.repeat(full);
}

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
