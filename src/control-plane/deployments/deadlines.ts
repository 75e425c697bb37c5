import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type Deadline, pendingDeadlines, remainingMs } from "../core/deadlines.ts";
import type { Deployment } from "../core/deployment.ts";

const RETRY_DELAY_MS = 5_000;

type Kind = Deadline["kind"];

interface Due {
  /** By the monotonic clock, fixed when the deadline is first seen: the time of day may jump. */
  readonly at: number;
  /** Duration of the deadline in milliseconds. */
  readonly durationMs: number;
}

interface Watched {
  /** Version of the deployment for which the timer was set. */
  readonly version: number;
  /** When each deadline expires. */
  readonly dueAt: ReadonlyMap<Kind, Due>;
  readonly armed: Kind;
  readonly timer: Disposable;
}

export interface DeadlineTimersOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ackTimeoutMs: number;
  /** Handles the expiry and returns the deployment afterwards. */
  readonly onExpired: (deploymentId: string, deadline: ExpiredDeadline) => Promise<Deployment | undefined>;
}

/** A deadline that has passed, with the duration for which its timer was set. */
export type ExpiredDeadline = Pick<Deadline, "kind" | "durationMs">;

/** One timer per unfinished deployment, for its earliest deadline. */
export class DeadlineTimers implements Disposable {
  readonly #options: DeadlineTimersOptions;
  readonly #watched = new Map<string, Watched>();
  #disposed = false;

  constructor(options: DeadlineTimersOptions) {
    this.#options = options;
  }

  /**
   * Sets the timer for the deployment's next deadline, or clears it when the deployment is finished. Ignores a version older
   * than the last one.
   */
  watch(deployment: Deployment): void {
    const { id, version } = deployment;
    const before = this.#watched.get(id);
    if (before && before.version > version) return;
    const dueAt = this.#dueAt(deployment, before?.dueAt);
    const next = earliestDue(dueAt);
    if (before && next && before.armed === next.kind && before.dueAt.get(next.kind)?.at === next.at) {
      this.#watched.set(id, { ...before, version, dueAt });
      return;
    }
    before?.timer[Symbol.dispose]();
    this.#rearm(deployment, dueAt);
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    for (const { timer } of this.#watched.values()) timer[Symbol.dispose]();
    this.#watched.clear();
  }

  #dueAt(deployment: Deployment, before: Watched["dueAt"] | undefined): Map<Kind, Due> {
    const { clock, ackTimeoutMs } = this.#options;
    const dueAt = new Map<Kind, Due>();
    for (const deadline of pendingDeadlines(deployment, ackTimeoutMs)) {
      const { kind, durationMs } = deadline;
      const known = before?.get(kind);
      // A deadline that was extended expires later by the same amount.
      const at = known
        ? known.at + durationMs - known.durationMs
        : clock.monotonic() + remainingMs(deadline, clock.now());
      dueAt.set(kind, { at, durationMs });
    }
    return dueAt;
  }

  #arm(id: string, due: Omit<Watched, "timer">, delayMs: number): void {
    if (this.#disposed) return;
    const { clock, logger, onExpired } = this.#options;
    const isCurrent = (): boolean => this.#watched.get(id)?.timer === timer;
    const timer = clock.timer(delayMs, () => {
      const durationMs = this.#watched.get(id)?.dueAt.get(due.armed)?.durationMs ?? 0;
      // Stays registered until then: if `watch` is called meanwhile, the time must not start again.
      const done = onExpired(id, { kind: due.armed, durationMs }).then(
        (after) => isCurrent() && this.#rearmOrDelete(id, after),
      );
      done.catch((error: unknown) => {
        logger.error(
          { err: error, deployment_id: id },
          "cannot end a deployment whose deadline has passed; trying again",
        );
        if (isCurrent()) this.#arm(id, this.#watched.get(id) ?? due, RETRY_DELAY_MS);
      });
    });
    this.#watched.set(id, { ...due, timer });
  }

  /** Sets the timer again if the deployment has changed since, such as by a later deadline. */
  #rearmOrDelete(id: string, after: Deployment | undefined): void {
    if (after) this.#rearm(after, this.#dueAt(after, this.#watched.get(id)?.dueAt));
    else this.#watched.delete(id);
  }

  #rearm({ id, version }: Deployment, dueAt: Watched["dueAt"]): void {
    this.#watched.delete(id);
    const next = earliestDue(dueAt);
    if (next) this.#arm(id, { version, dueAt, armed: next.kind }, next.at - this.#options.clock.monotonic());
  }
}

function earliestDue(dueAt: Watched["dueAt"]): { readonly kind: Kind; readonly at: number } | undefined {
  const [next] = [...dueAt].toSorted(([, one], [, other]) => one.at - other.at);
  return next && { kind: next[0], at: next[1].at };
}
