import type { Clock } from "../../lib/clock.ts";
import { type QueryAnswer, type QueryParams, QUERIES, type SingleQuery } from "../../protocol/device-query.ts";
import type { LogsParams } from "../../protocol/app-log.ts";
import type { StatsParams } from "../../protocol/app-stats.ts";
import type { ProtocolFeature } from "../../protocol/features.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { QUERY_FEATURES } from "../../protocol/features.ts";
import type { Asset } from "../core/asset.ts";
import { tooOldMessage } from "../core/command.ts";
import { validateAnswer } from "../core/validate-answer.ts";
import type { DeviceDirectory } from "../devices/directory.ts";
import type { DeviceSession } from "../devices/session.ts";
import { onAbort } from "../../lib/on-abort.ts";
import type { Observer } from "../metrics/observer.ts";
import { LogFeed } from "./log-feed.ts";
import { StatsFeed } from "./stats-feed.ts";
import { invalidAnswer, toQueryError } from "./query-error.ts";
import { ConcurrencyLimiter } from "../../lib/concurrency-limiter.ts";

/** Time until the first answer after which the device counts as not reachable, in milliseconds. */
const FIRST_ANSWER_TIMEOUT_MS = 10_000;

/** Maximum numbers of open queries. */
export const MAX_QUERIES_PER_DEVICE = 16;
export const MAX_QUERIES_PER_ACCOUNT = 64;

/** Sends queries to devices for clients. */
export class DeviceQueries {
  readonly #devices: DeviceDirectory;
  readonly #clock: Clock;
  readonly #deviceSlots: ConcurrencyLimiter;
  readonly #accountSlots: ConcurrencyLimiter;

  constructor(devices: DeviceDirectory, clock: Clock, observer?: Pick<Observer, "bounded">) {
    this.#deviceSlots = new ConcurrencyLimiter(MAX_QUERIES_PER_DEVICE, "Too many open queries to this device.", () =>
      observer?.bounded("queries_per_device"),
    );
    this.#accountSlots = new ConcurrencyLimiter(MAX_QUERIES_PER_ACCOUNT, "Too many open queries of this account.", () =>
      observer?.bounded("queries_per_account"),
    );
    this.#devices = devices;
    this.#clock = clock;
  }

  /**
   * Sends a query and returns its answer. Errors: `DeviceNotReachable` when the device is not connected, disconnects, or does
   * not answer within 10 s; `DeviceTooOld`, `TooManyRequests`, `DeviceFailed`; `AppNotFound`, `EngineUnavailable` and those of
   * volumes as reported by the device. When the signal aborts, its reason.
   */
  async query<K extends SingleQuery>(
    asset: Asset,
    what: K,
    params: QueryParams<K>,
    signal: AbortSignal,
  ): Promise<QueryAnswer<K>> {
    signal.throwIfAborted();
    const session = this.#session(asset);
    const feature = QUERY_FEATURES[what];
    if (feature !== undefined && !session.supports(feature)) {
      throw new EdgeError("DeviceTooOld", undefined, { features: [feature] });
    }
    using _slots = this.#acquireSlots(asset);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    using _timeout = this.#clock.timer(FIRST_ANSWER_TIMEOUT_MS, () => {
      session.checkLiveness();
      reject(new EdgeError("DeviceNotReachable"));
    });
    using _abort = onAbort(signal, () => reject(signal.reason));
    using _query = session.query(what, params, {
      answer: resolve,
      end: (error) => reject(error ? toQueryError(error) : invalidAnswer()),
    });
    const parsed = QUERIES[what].answer.safeParse(await promise);
    const answer = parsed.success ? validateAnswer(what, params, parsed.data as QueryAnswer<K>) : undefined;
    if (answer === undefined) throw invalidAnswer();
    return answer;
  }

  /** Opens the log of an app. Dispose of the feed to end the query. Errors as in `query`, from here or from the feed. */
  openLogs(asset: Asset, params: LogsParams): LogFeed {
    const session = this.#session(asset);
    if (params.previous) requireFeature(session, "previousLog", "previous");
    const { follow: isFollowing, tail: maxLines } = params;
    return new LogFeed({
      clock: this.#clock,
      isFollowing,
      maxLines,
      firstAnswerTimeoutMs: FIRST_ANSWER_TIMEOUT_MS,
      openQuery: (sink) => {
        using resources = new DisposableStack();
        resources.use(this.#acquireSlots(asset));
        resources.use(session.query("logs", params, sink));
        return resources.move();
      },
      onSilence: () => session.checkLiveness(),
    });
  }

  /** Opens a measurement of what the apps use. Dispose of the feed to end the query. Errors as in `openLogs`. */
  openStats(asset: Asset, params: StatsParams): StatsFeed {
    const session = this.#session(asset);
    requireFeature(session, "appStats", "stats");
    return new StatsFeed({
      clock: this.#clock,
      params,
      firstAnswerTimeoutMs: FIRST_ANSWER_TIMEOUT_MS,
      openQuery: (sink) => {
        using resources = new DisposableStack();
        resources.use(this.#acquireSlots(asset));
        resources.use(session.query("stats", params, sink));
        return resources.move();
      },
      onSilence: () => session.checkLiveness(),
    });
  }

  #acquireSlots({ uuid, accountId }: Asset): Disposable {
    using slots = new DisposableStack();
    slots.use(this.#deviceSlots.acquire(uuid));
    slots.use(this.#accountSlots.acquire(accountId));
    return slots.move();
  }

  #session(asset: Asset): DeviceSession {
    const session = this.#devices.find(asset.uuid);
    if (!session) throw new EdgeError("DeviceNotReachable");
    if (!session.supports("queries")) throw new EdgeError("DeviceTooOld");
    return session;
  }
}

/** @param usedBy what needs the feature, as a client knows it */
function requireFeature(session: DeviceSession, feature: ProtocolFeature, usedBy: string): void {
  if (!session.supports(feature)) throw new EdgeError("DeviceTooOld", tooOldMessage([{ feature, usedBy }]));
}
