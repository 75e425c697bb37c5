import type { Clock } from "../../lib/clock.ts";
import { onAbort } from "../../lib/abort.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import type { LogsParams } from "../../protocol/apps/app-log.ts";
import type { Asset } from "../core/asset.ts";
import type { LogEntry } from "../core/log-entry.ts";

/** As many lines as devices send with a deployment that failed, and as much of each. */
const LINES = 20;
const MAX_LINE_LENGTH = 500;
/** For all apps together: their rollout does not go on meanwhile. */
const TIMEOUT_MS = 5_000;
/** Fewer than an account may have: its people read logs too. */
const MAX_QUERIES = 16;

/** An app whose output is asked for. */
export interface WantedOutput extends Pick<Asset, "uuid" | "accountId"> {
  readonly app: string;
}

/** Asks devices for the output of their apps: a part of `DeviceQueries`. */
interface LogQueries {
  openLogs(asset: Pick<Asset, "uuid" | "accountId">, params: LogsParams): OpenLog;
}

interface OpenLog extends Disposable {
  batches(): AsyncIterable<readonly LogEntry[]>;
  end(error: undefined): void;
}

/** Reads the last lines of apps' output from their devices: a deployment that has succeeded has brought none. */
export class AppOutput {
  readonly #queries: LogQueries;
  readonly #clock: Clock;

  constructor(queries: LogQueries, clock: Clock) {
    this.#queries = queries;
    this.#clock = clock;
  }

  /**
   * Returns the lines by the UUIDs of the assets, each with one app. An asset whose device sends none within five seconds is not
   * in there. Does not throw.
   */
  async read(wanted: readonly WantedOutput[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>();
    if (wanted.length === 0) return found;
    const ending = new AbortController();
    using _timeout = this.#clock.timer(TIMEOUT_MS, () => ending.abort());
    const places = new Semaphore(MAX_QUERIES);
    const reads = wanted.map(async (each) => {
      using _place = await places.acquire(ending.signal);
      const lines = await this.#readOne(each, ending.signal);
      if (lines.length > 0) found.set(each.uuid, lines.join("\n"));
    });
    // What a device does not say is left out.
    await Promise.allSettled(reads);
    return found;
  }

  async #readOne({ app, ...asset }: WantedOutput, signal: AbortSignal): Promise<readonly string[]> {
    using feed = this.#queries.openLogs(asset, { app, tail: LINES, follow: false, previous: false });
    using _abort = onAbort(signal, () => feed.end(undefined));
    const lines: string[] = [];
    for await (const batch of feed.batches())
      for (const entry of batch) if ("text" in entry) lines.push(entry.text.slice(0, MAX_LINE_LENGTH));
    return lines;
  }
}
