import { nanoseconds } from "./time.ts";

/**
 * Engines take the two outputs of an app apart, each in its own order: a line of one may stand in the log behind one of
 * the other that is dated later. How much later, at the very most.
 */
const MAX_DISORDER_NS = 10_000_000_000n;

/** A line as far as it tells whether it was read. */
export interface DatedLine {
  readonly stream: "stdout" | "stderr";
  /** When the engine took it. Empty where it does not say. */
  readonly timestamp: string;
}

/** How far one output was read. */
interface Mark {
  /** Time of the line read last. */
  lastTimestamp: bigint;
  /** Lines of that very time, which only their number tells apart. */
  readCount: number;
  /** Lines of that time the stream that is being read has repeated so far. */
  repeatedCount: number;
  /** Whether that stream has come to what is new. */
  hasCaughtUp: boolean;
}

/**
 * How far a log was read, so that reading can go on in another stream without losing a line or showing one twice. An
 * engine answers everything that is not older than a time.
 */
export class LogCursor {
  readonly #marks = new Map<DatedLine["stream"], Mark>();
  readonly #tail: number;
  /** What is older was not asked for. */
  #from: bigint | undefined;
  #lastRead: bigint | undefined;
  /** What the first stream has brought so far; `undefined` once it is over. */
  #first: { lines: number; oldest: bigint } | undefined;

  /**
   * @param tail how many of the last lines are wanted of what was written before
   * @param since only lines that are not older, in nanoseconds since the Unix epoch
   */
  constructor({ tail, since }: { readonly tail: number; readonly since?: bigint | undefined }) {
    this.#tail = tail;
    this.#from = since;
  }

  /** Where to begin the next stream, in nanoseconds since the Unix epoch; `undefined` for at the beginning. */
  get since(): bigint | undefined {
    if (this.#lastRead === undefined) return this.#from;
    const from = this.#lastRead - MAX_DISORDER_NS;
    return this.#from !== undefined && this.#from > from ? this.#from : from;
  }

  /** A stream begins that may repeat what was read. */
  resume(): void {
    if (this.#lastRead !== undefined) this.#endFirst();
    for (const mark of this.#marks.values()) Object.assign(mark, { repeatedCount: 0, hasCaughtUp: false });
  }

  /** Takes the next line of the stream; answers whether it is new. */
  take({ stream, timestamp }: DatedLine): boolean {
    const at = nanoseconds(timestamp);
    // A line without a time cannot be told from one that was read: rather twice than never.
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

  /** As many as were wanted: what is older than those is not. */
  #endFirst(): void {
    if (this.#first && this.#first.lines >= this.#tail) this.#from = this.#first.oldest;
    this.#first = undefined;
  }

  #isNew(stream: DatedLine["stream"], at: bigint): boolean {
    const mark = this.#marks.get(stream);
    if (!mark) return this.#from === undefined || at >= this.#from;
    // Behind what is new everything is, also where the clock was set back.
    if (mark.hasCaughtUp || at > mark.lastTimestamp) return true;
    return at === mark.lastTimestamp && mark.repeatedCount++ >= mark.readCount;
  }
}
