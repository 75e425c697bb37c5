import { nanoseconds } from "./time.ts";

/**
 * Engines read the two outputs of an app separately, so a line may follow one of the other output with a later
 * timestamp. This is the largest such difference.
 */
const MAX_DISORDER_NS = 10_000_000_000n;

/** The fields of a line that identify it. */
export interface DatedLine {
  readonly stream: "stdout" | "stderr";
  /** Time at which the engine read it; empty if unknown. */
  readonly time: string;
}

/** Read position in one output. */
interface Mark {
  /** Timestamp of the last line. */
  lastTimestamp: bigint;
  /** Number of lines with that timestamp. */
  readCount: number;
  /** Number of them the current stream has repeated. */
  repeatedCount: number;
  /** Whether the current stream has reached new lines. */
  hasCaughtUp: boolean;
}

/**
 * Read position in a log, so that a new stream can continue without losing or repeating lines. Engines can only start a
 * stream at a time.
 */
export class LogCursor {
  readonly #marks = new Map<DatedLine["stream"], Mark>();
  readonly #tail: number;
  /** Older lines are ignored. */
  #from: bigint | undefined;
  #lastRead: bigint | undefined;
  /** Lines read from the first stream; `undefined` after it has ended. */
  #first: { lines: number; oldest: bigint } | undefined;

  /**
   * @param tail number of earlier lines wanted
   * @param since time of the oldest line wanted, in nanoseconds since the Unix epoch
   */
  constructor({ tail, since }: { readonly tail: number; readonly since?: bigint | undefined }) {
    this.#tail = tail;
    this.#from = since;
  }

  /** Start of the next stream, in nanoseconds since the Unix epoch; `undefined` for the beginning of the log. */
  get since(): bigint | undefined {
    if (this.#lastRead === undefined) return this.#from;
    const from = this.#lastRead - MAX_DISORDER_NS;
    return this.#from !== undefined && this.#from > from ? this.#from : from;
  }

  /** Call when a new stream begins, which may repeat lines. */
  resume(): void {
    if (this.#lastRead !== undefined) this.#endFirst();
    for (const mark of this.#marks.values()) Object.assign(mark, { repeatedCount: 0, hasCaughtUp: false });
  }

  /** Takes the next line of the stream; returns whether it is new. */
  take({ stream, time }: DatedLine): boolean {
    const at = nanoseconds(time);
    // Without a timestamp, a repeated line cannot be recognized: show it again rather than lose it.
    if (at === undefined) return true;
    if (!this.#isNew(stream, at)) return false;
    const mark = this.#marks.get(stream);
    const readAt = mark?.lastTimestamp === at ? mark.readCount + 1 : 1;
    this.#marks.set(stream, { lastTimestamp: at, readCount: readAt, repeatedCount: readAt, hasCaughtUp: true });
    this.#countFirst(at);
    this.#lastRead = at;
    return true;
  }

  #countFirst(at: bigint): void {
    if (this.#lastRead === undefined) this.#first = { lines: 0, oldest: at };
    if (!this.#first) return;
    this.#first.lines++;
    if (at < this.#first.oldest) this.#first.oldest = at;
  }

  /** If the first stream brought all `tail` lines, ignores older ones from now on. */
  #endFirst(): void {
    if (this.#first && this.#first.lines >= this.#tail) this.#from = this.#first.oldest;
    this.#first = undefined;
  }

  #isNew(stream: DatedLine["stream"], at: bigint): boolean {
    const mark = this.#marks.get(stream);
    if (!mark) return this.#from === undefined || at >= this.#from;
    // After a new line all lines are new, even if the clock was set back.
    if (mark.hasCaughtUp || at > mark.lastTimestamp) return true;
    return at === mark.lastTimestamp && mark.repeatedCount++ >= mark.readCount;
  }
}
