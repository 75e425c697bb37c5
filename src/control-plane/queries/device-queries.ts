import type { Clock } from "../../lib/clock.ts";
import { type QueryAnswer, type QueryParams, QUERIES, type SingleQuery } from "../../protocol/device-query.ts";
import type { LogsParams } from "../../protocol/app-log.ts";
import { EdgeError } from "../../protocol/errors.ts";
import type { Asset } from "../core/asset.ts";
import { validateAnswer } from "../core/validate-answer.ts";
import type { DeviceDirectory, DeviceSession } from "../devices/session.ts";
import { onAbort } from "../../lib/on-abort.ts";
import { LogFeed } from "./log-feed.ts";
import { invalidAnswer, toQueryError } from "./query-error.ts";
import { ConcurrencyLimiter } from "../../lib/concurrency-limiter.ts";

/** How long a device may take to begin its answer before it counts as not reachable, in milliseconds. */
const FIRST_ANSWER_TIMEOUT_MS = 10_000;

/** Most questions one device is asked at once, and one account may have open. */
export const MAX_QUERIES_PER_DEVICE = 16;
export const MAX_QUERIES_PER_ACCOUNT = 64;

/** Asks devices on behalf of clients. */
export class DeviceQueries {
  readonly #devices: DeviceDirectory;
  readonly #clock: Clock;
  readonly #deviceSlots = new ConcurrencyLimiter(
    MAX_QUERIES_PER_DEVICE,
    "The device is asked as much at once as it may be.",
  );
  readonly #accountSlots = new ConcurrencyLimiter(
    MAX_QUERIES_PER_ACCOUNT,
    "The account has as many questions to its devices open as it may have.",
  );

  constructor(devices: DeviceDirectory, clock: Clock) {
    this.#devices = devices;
    this.#clock = clock;
  }

  /**
   * Asks what has a single answer. Errors: `DeviceNotReachable` when the device is not connected, leaves, or does not
   * answer within 10 s; `DeviceTooOld`, `TooManyRequests`, `DeviceFailed`; `AppNotFound` and `EngineUnavailable` where
   * the device says so. When the signal aborts, its reason.
   */
  async query<K extends SingleQuery>(
    asset: Asset,
    what: K,
    params: QueryParams<K>,
    signal: AbortSignal,
  ): Promise<QueryAnswer<K>> {
    signal.throwIfAborted();
    const session = this.#session(asset);
    using _slots = this.#acquireSlots(asset);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    using _silence = this.#clock.timer(FIRST_ANSWER_TIMEOUT_MS, () => {
      session.checkLiveness();
      reject(new EdgeError("DeviceNotReachable"));
    });
    using _left = onAbort(signal, () => reject(signal.reason));
    using _query = session.query(what, params, {
      answer: resolve,
      end: (error) => reject(error ? toQueryError(error) : invalidAnswer()),
    });
    const parsed = QUERIES[what].answer.safeParse(await promise);
    const answer = parsed.success ? validateAnswer(what, params, parsed.data as QueryAnswer<K>) : undefined;
    if (answer === undefined) throw invalidAnswer();
    return answer;
  }

  /**
   * Asks for the log lines of an app; dispose of the feed to end it. Errors as in `ask`, here or from the feed.
   */
  openLogs(asset: Asset, params: LogsParams): LogFeed {
    const session = this.#session(asset);
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
