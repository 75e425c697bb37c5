import type { AppLogEntry } from "../../../protocol/api-types.ts";
import { send } from "../../api/client.ts";
import { type ApiFailure, toFailure } from "../../api/failure.ts";
import { readMessages } from "../../live/line-stream.ts";
import { LogWindow } from "./log-ring.ts";

/**
 * Where a log has been read to, so that it can be taken up again after the stream was cut: the service is asked for
 * everything since that second, and what has been shown is left out. Lines are told apart by their time, which the engine
 * gives to the nanosecond.
 */
export class LogPosition {
  #last: string | undefined;
  /** How many lines of exactly this time have been shown. */
  #shownAtLast = 0;
  #toSkip = 0;
  #isResuming = false;

  /** Seconds to ask for; `undefined` before the first line. */
  get since(): number | undefined {
    const ms = this.#last === undefined ? Number.NaN : Date.parse(this.#last);
    return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000);
  }

  /** Must be called before the entries of a stream that was taken up again. */
  resume(): void {
    this.#isResuming = this.#last !== undefined;
    this.#toSkip = this.#shownAtLast;
  }

  /** Returns whether the entry is new, and moves on. */
  advance(entry: AppLogEntry): boolean {
    if (!("time" in entry)) return true;
    const order = this.#last === undefined ? 1 : compareTimes(entry.time, this.#last);
    if (this.#isResuming) {
      if (order < 0) return false;
      if (order === 0 && this.#toSkip > 0) {
        this.#toSkip -= 1;
        return false;
      }
      if (order > 0) this.#isResuming = false;
    }
    if (order === 0) this.#shownAtLast += 1;
    if (order > 0) {
      this.#last = entry.time;
      this.#shownAtLast = 1;
    }
    return true;
  }
}

/** Compares two times of RFC 3339 beyond the milliseconds that `Date` knows. Both are UTC, as engines give them. */
function compareTimes(a: string, b: string): number {
  const [secondsA, fractionA] = split(a);
  const [secondsB, fractionB] = split(b);
  if (secondsA !== secondsB) return secondsA < secondsB ? -1 : 1;
  return fractionA === fractionB ? 0 : fractionA < fractionB ? -1 : 1;
}

function split(time: string): readonly [string, string] {
  const [, seconds = time, fraction = ""] = /^([^.Z]*)(?:\.(\d*))?Z?$/.exec(time) ?? [];
  return [seconds, fraction.padEnd(9, "0")];
}

const MIN_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
const FIRST_TAIL = "500";
/** After a cut, up to this many lines are fetched that were written meanwhile: the maximum of the API. */
const RESUMED_TAIL = "10000";
/** At least this long between two changes of what is shown, in milliseconds. */
const MIN_CHANGE_INTERVAL_MS = 100;
/** So many entries are read before the page gets a chance to do something else. */
const ENTRIES_AT_ONCE = 500;

type LogState = "reading" | "waiting" | "paused" | "ended";

export interface LogSnapshot {
  /** Rises with each change. */
  readonly version: number;
  readonly state: LogState;
  readonly failure: ApiFailure | undefined;
}

/**
 * Follows the log of an app into a ring. While it is paused, or the page is hidden, nothing is read: the service keeps a
 * little and counts what it leaves out.
 */
export class LogReader {
  readonly ring = new LogWindow();
  readonly #assetId: string;
  readonly #app: string;
  readonly #position = new LogPosition();
  readonly #listeners = new Set<() => void>();
  #snapshot: LogSnapshot = { version: 0, state: "waiting", failure: undefined };
  #isChangeScheduled = false;
  #resume: PromiseWithResolvers<void> | undefined;

  constructor(assetId: string, app: string) {
    this.#assetId = assetId;
    this.#app = app;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly snapshot = (): LogSnapshot => this.#snapshot;

  setPaused(isPaused: boolean): void {
    if (isPaused) this.#resume ??= Promise.withResolvers<void>();
    else {
      this.#resume?.resolve();
      this.#resume = undefined;
    }
    this.#change({ state: isPaused ? "paused" : "reading" });
  }

  /** Reads until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    let pauseMs = MIN_PAUSE_MS;
    while (!signal.aborted) {
      try {
        await this.#readOnce(signal);
        pauseMs = MIN_PAUSE_MS;
        this.#change({ state: "waiting", failure: undefined });
      } catch (error) {
        if (signal.aborted) return;
        const failure = toFailure(error);
        const isFinal = failure.status >= 400 && failure.status < 500 && failure.status !== 429;
        this.#change({ state: isFinal ? "ended" : "waiting", failure });
        if (isFinal) return;
      }
      await pause(pauseMs * (0.5 + Math.random()), signal);
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
    }
  }

  async #readOnce(signal: AbortSignal): Promise<void> {
    await this.#resume?.promise;
    const { since } = this.#position;
    const response = await send("GET /v1/assets/{asset_id}/edge/apps/{name}/logs", {
      path: { asset_id: this.#assetId, name: this.#app },
      query: {
        follow: "true",
        tail: since === undefined ? FIRST_TAIL : RESUMED_TAIL,
        since: since === undefined ? undefined : String(since),
      },
      signal,
    });
    this.#position.resume();
    this.#change({ state: this.#resume ? "paused" : "reading", failure: undefined });
    if (!response.body) return;
    let count = 0;
    for await (const message of readMessages(response.body)) {
      const entry = message as AppLogEntry;
      if (this.#position.advance(entry)) {
        this.ring.push(entry);
        this.#scheduleChange();
      }
      // Nothing is read from the network meanwhile.
      if (this.#resume) await Promise.race([this.#resume.promise, aborted(signal)]);
      count += 1;
      if (count % ENTRIES_AT_ONCE === 0) await pause(0, signal);
    }
  }

  #scheduleChange(): void {
    if (this.#isChangeScheduled) return;
    this.#isChangeScheduled = true;
    setTimeout(() => {
      this.#isChangeScheduled = false;
      this.#change({});
    }, MIN_CHANGE_INTERVAL_MS);
  }

  #change(change: Partial<LogSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...change, version: this.#snapshot.version + 1 };
    for (const listener of this.#listeners) listener();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, aborted(signal)]);
  clearTimeout(timer);
}
