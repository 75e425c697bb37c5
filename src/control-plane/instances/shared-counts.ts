import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { SharedCount } from "../../lib/concurrency-limiter.ts";
import { parseJson } from "../../lib/parse-json.ts";
import type { MessageLink } from "../bus/message-link.ts";

const SUBJECT = "counts";
/** How long changes wait for others, so that they are sent together. */
const SEND_DELAY_MS = 250;
/** Everything is sent this often, since messages may be lost. */
const REPEAT_INTERVAL_MS = 3_000;
/** A count of another instance that was not repeated for this long is over. */
const FORGET_AFTER_MS = 10_000;
/** Counts in one message, which is then far smaller than a link carries. */
const MAX_COUNTS_PER_MESSAGE = 1_000;
const MAX_NAME_LENGTH = 200;
/** Own counts, and those of all other instances. What is beyond is counted by each instance alone. */
const MAX_OWN_COUNTS = 20_000;
const MAX_COUNTS = 100_000;

const messageSchema = z.object({
  from: z.string().max(MAX_NAME_LENGTH),
  counts: z.array(z.tuple([z.string().max(MAX_NAME_LENGTH), z.int().min(0)])).max(MAX_COUNTS_PER_MESSAGE),
});

interface OwnCount {
  readonly count: number;
  readonly until: number;
}

interface OtherCount {
  readonly count: number;
  readonly heardAt: number;
}

export interface SharedCountsOptions {
  readonly link: MessageLink;
  readonly instanceId: string;
  readonly clock: Clock;
}

/**
 * What accounts and keys take of what is limited, added up over all instances: each one tells the others what it counts, a quarter
 * of a second late. While they cannot be reached, each counts alone. Costs nothing while nothing is counted.
 */
export class SharedCounts implements Disposable {
  readonly #options: SharedCountsOptions;
  readonly #own = new Map<string, OwnCount>();
  readonly #changed = new Set<string>();
  /** By name and instance. */
  readonly #others = new Map<string, Map<string, OtherCount>>();
  #otherCounts = 0;
  readonly #listening: Disposable;
  #sending: Disposable | undefined;
  #repeating: Disposable | undefined;

  constructor(options: SharedCountsOptions) {
    this.#options = options;
    this.#listening = options.link.listen(SUBJECT, (message) => this.#receive(message));
  }

  /** Returns the counts of one kind, such as of streams by account. */
  of(kind: string): SharedCount {
    return {
      others: (holder) => this.others(`${kind}:${holder}`),
      set: (holder, count, forMs) => this.set(`${kind}:${holder}`, count, forMs),
    };
  }

  /** What all other instances count together. */
  others(name: string): number {
    let sum = 0;
    const after = this.#now - FORGET_AFTER_MS;
    for (const { count, heardAt } of this.#others.get(name)?.values() ?? []) if (heardAt > after) sum += count;
    return sum;
  }

  /** @param forMs after this time the count is over; by default it stays until it is 0 */
  set(name: string, count: number, forMs = Infinity): void {
    if (count === 0) this.#own.delete(name);
    else if (this.#own.size < MAX_OWN_COUNTS || this.#own.has(name))
      this.#own.set(name, { count, until: this.#now + forMs });
    else return;
    this.#changed.add(name);
    this.#sending ??= this.#options.clock.timer(SEND_DELAY_MS, () => this.#sendChanges());
    this.#repeat();
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
    this.#sending?.[Symbol.dispose]();
    this.#repeating?.[Symbol.dispose]();
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  #sendChanges(): void {
    this.#sending = undefined;
    this.#send([...this.#changed]);
    this.#changed.clear();
  }

  /** Repeats the own counts, and forgets what is over, while there is anything. */
  #repeat(): void {
    this.#repeating ??= this.#options.clock.timer(REPEAT_INTERVAL_MS, () => {
      this.#repeating = undefined;
      for (const [name, { until }] of this.#own) if (until <= this.#now) this.#own.delete(name);
      this.#send([...this.#own.keys()]);
      this.#forget();
      if (this.#own.size > 0 || this.#others.size > 0) this.#repeat();
    });
  }

  #send(names: readonly string[]): void {
    const { link, instanceId: from } = this.#options;
    for (let at = 0; at < names.length; at += MAX_COUNTS_PER_MESSAGE) {
      const piece = names.slice(at, at + MAX_COUNTS_PER_MESSAGE);
      const counts = piece.map((name) => [name, this.#own.get(name)?.count ?? 0]);
      link.send(SUBJECT, Buffer.from(JSON.stringify({ from, counts })));
    }
  }

  #receive(message: Uint8Array): void {
    const parsed = messageSchema.safeParse(parseJson(message, "instance")).data;
    if (!parsed) return;
    for (const [name, count] of parsed.counts) this.#take(parsed.from, name, count);
    this.#repeat();
  }

  #take(from: string, name: string, count: number): void {
    const counts = this.#others.get(name) ?? new Map<string, OtherCount>();
    const isKnown = counts.has(from);
    if (count === 0) {
      if (counts.delete(from)) this.#otherCounts--;
    } else if (isKnown || this.#otherCounts < MAX_COUNTS) {
      counts.set(from, { count, heardAt: this.#now });
      if (!isKnown) this.#otherCounts++;
    }
    if (counts.size > 0) this.#others.set(name, counts);
    else this.#others.delete(name);
  }

  #forget(): void {
    const after = this.#now - FORGET_AFTER_MS;
    for (const [name, counts] of this.#others) {
      for (const [from, { heardAt }] of counts) if (heardAt <= after) this.#take(from, name, 0);
    }
  }
}
