import type { Output } from "../../../src/lib/terminal/output.ts";

/** An output in memory; a terminal if `columns` is given. */
export class MemoryOutput implements Output {
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  text = "";

  constructor(columns?: number) {
    this.isTTY = columns !== undefined;
    this.columns = columns;
  }

  write(text: string): void {
    this.text += text;
  }
}
