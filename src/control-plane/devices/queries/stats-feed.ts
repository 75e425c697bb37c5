import type { Clock } from "../../../lib/clock.ts";
import { Latch } from "../../../lib/latch.ts";
import { type AppStats, appStatsSchema, type StatsParams } from "../../../protocol/apps/app-stats.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { validateAnswer } from "../../core/validate-answer.ts";
import type { QuerySink } from "../session.ts";
import { invalidAnswer } from "./query-error.ts";

/** Maximum pause between two answers beyond the requested interval, in milliseconds. */
const NEXT_ANSWER_TIMEOUT_MS = 30_000;
/** Maximum silence of a stream before it is kept alive, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

export interface StatsFeedOptions {
  readonly clock: Clock;
  readonly params: StatsParams;
  readonly firstAnswerTimeoutMs: number;
  /** Sends the query. What it returns is disposed of with the feed. */
  readonly openQuery: (sink: QuerySink) => Disposable;
  /** Called when the device has not sent anything for too long. */
  readonly onSilence: () => void;
}

/**
 * Keeps the newest answer of one `stats` query for the client. An answer is the whole state, so that an older one which a
 * slow client has not taken is replaced: the memory of a feed does not grow with what the device sends.
 */
export class StatsFeed implements QuerySink, Disposable {
  readonly #options: StatsFeedOptions;
  readonly #latch = new Latch();
  readonly #query: Disposable;
  #newest: AppStats | undefined;
  #end: { readonly error: EdgeError | undefined } | undefined;
  #timeout: Disposable | undefined;

  /** Sends the query. Throws as `openQuery` does. */
  constructor(options: StatsFeedOptions) {
    this.#options = options;
    this.#query = options.openQuery(this);
    this.#armTimeout(options.firstAnswerTimeoutMs);
  }

  answer(body: unknown): void {
    if (this.#end) return;
    const { params } = this.#options;
    const parsed = appStatsSchema.safeParse(body).data;
    const stats = parsed && validateAnswer("stats", params, parsed);
    if (!stats) return this.end(invalidAnswer());
    this.#newest = stats;
    if (params.follow) this.#armTimeout(params.interval_s * 1000 + NEXT_ANSWER_TIMEOUT_MS);
    else this.end(undefined);
    this.#latch.set();
  }

  end(error: EdgeError | undefined): void {
    this.#end ??= { error };
    this.#timeout?.[Symbol.dispose]();
    this.#latch.set();
  }

  /** Resolves with the first answer. Throws the error with which the query ended instead. */
  async first(): Promise<AppStats> {
    while (!this.#newest && !this.#end) await this.#latch.wait(this.#options.clock, KEEP_ALIVE_MS);
    const stats = this.#take();
    if (stats) return stats;
    throw this.#end?.error ?? invalidAnswer();
  }

  /**
   * Yields each answer that is new, `undefined` to keep the connection alive, until the query ends. Throws when it ends with
   * an error.
   */
  async *answers(): AsyncGenerator<AppStats | undefined, void, undefined> {
    for (;;) {
      const stats = this.#take();
      if (stats) yield stats;
      else if (this.#end?.error) throw this.#end.error;
      else if (this.#end) return;
      else if (!(await this.#latch.wait(this.#options.clock, KEEP_ALIVE_MS))) yield undefined;
    }
  }

  [Symbol.dispose](): void {
    this.end(undefined);
    this.#query[Symbol.dispose]();
  }

  #take(): AppStats | undefined {
    const stats = this.#newest;
    this.#newest = undefined;
    return stats;
  }

  #armTimeout(ms: number): void {
    this.#timeout?.[Symbol.dispose]();
    this.#timeout = this.#options.clock.timer(ms, () => {
      this.#options.onSilence();
      this.end(new EdgeError("DeviceNotReachable"));
    });
  }
}
