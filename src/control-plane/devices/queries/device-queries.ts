import type { Clock } from "../../../lib/clock.ts";
import {
  type QueryAnswer,
  type QueryKind,
  type QueryParams,
  QUERIES,
  type SingleQuery,
} from "../../../protocol/link/device-query.ts";
import type { LogsParams } from "../../../protocol/apps/app-log.ts";
import type { StatsParams } from "../../../protocol/apps/app-stats.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { Asset } from "../../core/asset.ts";
import { validateAnswer } from "../../core/validate-answer.ts";
import type { QuerySink } from "../session.ts";
import type { DeviceGateway } from "../gateway/device-gateway.ts";
import { onAbort } from "../../../lib/abort.ts";
import type { Observer } from "../../metrics/observer.ts";
import { LogFeed } from "./log-feed.ts";
import { StatsFeed } from "./stats-feed.ts";
import { invalidAnswer } from "./query-error.ts";
import { ConcurrencyLimiter, type SharedCount } from "../../../lib/concurrency-limiter.ts";

/** Time until the first answer after which the device counts as not reachable, in milliseconds. */
const FIRST_ANSWER_TIMEOUT_MS = 10_000;

/** Maximum number of open queries of an account. Those of a device are limited where its session is. */
export const MAX_QUERIES_PER_ACCOUNT = 64;

/** Sends queries to devices for clients. */
export class DeviceQueries {
  readonly #gateway: DeviceGateway;
  readonly #clock: Clock;
  readonly #accountSlots: ConcurrencyLimiter;

  /** @param others the open queries of accounts at other instances */
  constructor(gateway: DeviceGateway, clock: Clock, others?: SharedCount, observer?: Pick<Observer, "bounded">) {
    this.#gateway = gateway;
    this.#clock = clock;
    const message = "Too many open queries of this account.";
    this.#accountSlots = new ConcurrencyLimiter(MAX_QUERIES_PER_ACCOUNT, message, others, () =>
      observer?.bounded("queries_per_account"),
    );
  }

  /**
   * Sends a query and returns its answer. Errors: `DeviceNotReachable` when the device is not connected, disconnects, or does
   * not answer within 10 s; `ServiceUnavailable` when the instance that it is connected to cannot be reached; `DeviceTooOld`,
   * `TooManyRequests`, `DeviceFailed`; `AppNotFound`, `EngineUnavailable` and those of volumes as reported by the device. When
   * the signal aborts, its reason.
   */
  async query<K extends SingleQuery>(
    asset: Asset,
    what: K,
    params: QueryParams<K>,
    signal: AbortSignal,
  ): Promise<QueryAnswer<K>> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    using _query = this.#open(asset, what, params, {
      answer: resolve,
      end: (error) => reject(error ?? invalidAnswer()),
    });
    using _timeout = this.#clock.timer(FIRST_ANSWER_TIMEOUT_MS, () => {
      this.#gateway.checkLiveness(asset.uuid);
      reject(new EdgeError("DeviceNotReachable"));
    });
    using _abort = onAbort(signal, () => reject(signal.reason));
    const parsed = QUERIES[what].answer.safeParse(await promise);
    const answer = parsed.success ? validateAnswer(what, params, parsed.data as QueryAnswer<K>) : undefined;
    if (answer === undefined) throw invalidAnswer();
    return answer;
  }

  /** Opens the log of an app. Dispose of the feed to end the query. Errors as in `query`, most of them from the feed. */
  openLogs(asset: Pick<Asset, "uuid" | "accountId">, params: LogsParams): LogFeed {
    const { follow: isFollowing, tail: maxLines } = params;
    return new LogFeed({
      clock: this.#clock,
      isFollowing,
      maxLines,
      firstAnswerTimeoutMs: FIRST_ANSWER_TIMEOUT_MS,
      openQuery: (sink) => this.#open(asset, "logs", params, sink),
      onSilence: () => this.#gateway.checkLiveness(asset.uuid),
    });
  }

  /** Opens a measurement of what the apps use. Dispose of the feed to end the query. Errors as in `openLogs`. */
  openStats(asset: Asset, params: StatsParams): StatsFeed {
    return new StatsFeed({
      clock: this.#clock,
      params,
      firstAnswerTimeoutMs: FIRST_ANSWER_TIMEOUT_MS,
      openQuery: (sink) => this.#open(asset, "stats", params, sink),
      onSilence: () => this.#gateway.checkLiveness(asset.uuid),
    });
  }

  /** Error: `TooManyRequests`. */
  #open(
    { uuid, accountId }: Pick<Asset, "uuid" | "accountId">,
    what: QueryKind,
    params: unknown,
    sink: QuerySink,
  ): Disposable {
    using resources = new DisposableStack();
    resources.use(this.#accountSlots.acquire(accountId));
    resources.use(this.#gateway.query(uuid, what, params, sink));
    return resources.move();
  }
}
