import type { AppLogEntry } from "../../../protocol/api-types.ts";

/** A row of a log as it is shown. */
export type LogRow = { readonly id: number } & (
  | {
      readonly kind: "line";
      readonly stream: "stdout" | "stderr";
      readonly time: string;
      readonly text: string;
      readonly isTruncated: boolean;
    }
  | { readonly kind: "omitted"; readonly lines: number; readonly bytes: number }
  | { readonly kind: "note"; readonly text: string; readonly isError: boolean }
);

type NewRow = LogRow extends infer Row ? (Row extends LogRow ? Omit<Row, "id"> : never) : never;

interface LogBounds {
  readonly maxRows: number;
  readonly maxCharacters: number;
}

const LOG_BOUNDS: LogBounds = { maxRows: 5000, maxCharacters: 2 * 1024 * 1024 };

/**
 * The last rows of a log, in bounded memory. Older ones are dropped and counted. Dropping a row costs nothing but moving
 * the start; the list is copied when half of it is gone.
 */
export class LogWindow {
  readonly #bounds: LogBounds;
  #rows: LogRow[] = [];
  #start = 0;
  #characters = 0;
  #nextId = 1;
  #droppedLines = 0;
  #keptLines = 0;
  #leftOutLines = 0;

  constructor(bounds: LogBounds = LOG_BOUNDS) {
    this.#bounds = bounds;
  }

  get length(): number {
    return this.#rows.length - this.#start;
  }

  /** Lines that are kept. Gaps and notes are rows, too, but no lines. */
  get keptLines(): number {
    return this.#keptLines;
  }

  /** Lines that were left out, in the gaps that are kept. */
  get leftOutLines(): number {
    return this.#leftOutLines;
  }

  /** Lines that were received and are no longer kept, with those that were left out before them. */
  get droppedLines(): number {
    return this.#droppedLines;
  }

  at(index: number): LogRow | undefined {
    return index < 0 ? undefined : this.#rows[this.#start + index];
  }

  /** The rows that are kept, oldest first. */
  rows(): readonly LogRow[] {
    return this.#rows.slice(this.#start);
  }

  push(entry: AppLogEntry): void {
    if ("error" in entry) return this.note(entry.error.message, true);
    if ("omitted_lines" in entry) return this.omit(entry.omitted_lines, entry.omitted_bytes);
    const { stream, time, text, truncated } = entry;
    this.#add({ kind: "line", stream, time, text, isTruncated: truncated === true });
  }

  /** Counts lines that were left out here. Adjacent gaps become one. */
  omit(lines: number, bytes: number): void {
    const last = this.at(this.length - 1);
    if (last?.kind !== "omitted") return this.#add({ kind: "omitted", lines, bytes });
    this.#leftOutLines += lines;
    this.#rows[this.#rows.length - 1] = { ...last, lines: last.lines + lines, bytes: last.bytes + bytes };
  }

  note(text: string, isError: boolean): void {
    this.#add({ kind: "note", text, isError });
  }

  clear(): void {
    this.#rows = [];
    this.#start = 0;
    this.#characters = 0;
    this.#droppedLines = 0;
    this.#keptLines = 0;
    this.#leftOutLines = 0;
  }

  #add(row: NewRow): void {
    const added = { ...row, id: this.#nextId++ } as LogRow;
    this.#rows.push(added);
    this.#characters += sizeOf(added);
    if (added.kind === "line") this.#keptLines += 1;
    if (added.kind === "omitted") this.#leftOutLines += added.lines;
    const { maxRows, maxCharacters } = this.#bounds;
    // The newest row stays, whatever its size.
    while (this.length > 1 && (this.length > maxRows || this.#characters > maxCharacters)) this.#drop();
  }

  #drop(): void {
    const row = this.#rows[this.#start];
    if (row === undefined) return;
    this.#characters -= sizeOf(row);
    if (row.kind === "line") {
      this.#keptLines -= 1;
      this.#droppedLines += 1;
    } else if (row.kind === "omitted") {
      this.#leftOutLines -= row.lines;
      this.#droppedLines += row.lines;
    }
    this.#start += 1;
    if (this.#start * 2 < this.#rows.length) return;
    this.#rows = this.#rows.slice(this.#start);
    this.#start = 0;
  }
}

function sizeOf(row: LogRow): number {
  return row.kind === "omitted" ? 0 : row.text.length;
}

/** A colour or weight of a terminal. It changes nothing but the looks, so it is left out. */
// oxlint-disable-next-line no-control-regex
const COLOUR = /\u001B\[[\d;:]*m/g;

/** A line of a log without a terminal's colours, and without the carriage return of its end. */
export function plainLine(text: string): string {
  return text.replaceAll(COLOUR, "").replace(/\r$/, "");
}

type Counts = Pick<LogWindow, "keptLines" | "leftOutLines" | "droppedLines">;

/** How many lines of a log are shown and how many are not, such as `5,000 lines shown, 12 left out between them`. */
export function logCounts({ keptLines, leftOutLines, droppedLines }: Counts): string {
  return [
    `${format(keptLines)} ${keptLines === 1 ? "line" : "lines"} shown`,
    ...(leftOutLines > 0 ? [`${format(leftOutLines)} left out between them`] : []),
    ...(droppedLines > 0 ? [`${format(droppedLines)} earlier ones no longer kept`] : []),
  ].join(", ");
}

function format(count: number): string {
  return count.toLocaleString("en");
}
