import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type Deadline, deadlinesOf, remaining } from "../core/deadlines.ts";
import type { Deployment } from "../core/deployment.ts";

const RETRY_MS = 5_000;

type Kind = Deadline["kind"];

interface Due {
  /** By the monotonic clock. Settled at first sight: the time of day may jump at any time. */
  readonly at: number;
  /** How long it may take in all, in milliseconds. */
  readonly durationMs: number;
}

interface Watched {
  /** When each deadline is up. */
  readonly dueAt: ReadonlyMap<Kind, Due>;
  readonly armed: Kind;
  readonly timer: Disposable;
}

export interface DeadlinesOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ackTimeoutMs: number;
  readonly onExpired: (deploymentId: string, kind: Kind) => Promise<void>;
}

/** One timer for each unfinished deployment, for whatever has to happen to it next. */
export class Deadlines implements Disposable {
  readonly #options: DeadlinesOptions;
  readonly #watched = new Map<string, Watched>();
  #disposed = false;

  constructor(options: DeadlinesOptions) {
    this.#options = options;
  }

  /** Sets the timer by what the deployment is now; clears it when the deployment is finished. */
  watch(deployment: Deployment): void {
    const { clock, ackTimeoutMs } = this.#options;
    const before = this.#watched.get(deployment.id);
    const dueAt = new Map<Kind, Due>();
    for (const deadline of deadlinesOf(deployment, ackTimeoutMs)) {
      const { kind, durationMs } = deadline;
      const known = before?.dueAt.get(kind);
      // One that was given more time has that much more.
      const at = known
        ? known.at + durationMs - known.durationMs
        : clock.monotonic() + remaining(deadline, clock.now());
      dueAt.set(kind, { at, durationMs });
    }
    const [next] = [...dueAt].toSorted(([, one], [, other]) => one.at - other.at);
    if (before && next && before.armed === next[0] && before.dueAt.get(next[0])?.at === next[1].at) return;
    before?.timer[Symbol.dispose]();
    this.#watched.delete(deployment.id);
    if (next) this.#arm(deployment.id, dueAt, next[0], next[1].at - clock.monotonic());
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    for (const { timer } of this.#watched.values()) timer[Symbol.dispose]();
    this.#watched.clear();
  }

  #arm(id: string, dueAt: Watched["dueAt"], kind: Kind, delayMs: number): void {
    if (this.#disposed) return;
    const { clock, logger, onExpired } = this.#options;
    const isCurrent = (): boolean => this.#watched.get(id)?.timer === timer;
    const timer = clock.timer(delayMs, () => {
      // Kept until that is done: seen again meanwhile, the deployment must not be given its time anew.
      const done = onExpired(id, kind).then(() => isCurrent() && this.#watched.delete(id));
      done.catch((error: unknown) => {
        logger.error({ err: error, deployment_id: id }, "cannot end a deployment whose time is up; trying again");
        if (isCurrent()) this.#arm(id, dueAt, kind, RETRY_MS);
      });
    });
    this.#watched.set(id, { dueAt, armed: kind, timer });
  }
}
