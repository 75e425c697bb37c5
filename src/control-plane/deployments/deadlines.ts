import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type Deadline, nextDeadline } from "../core/deadlines.ts";
import type { Deployment } from "../core/deployment.ts";

const RETRY_MS = 5_000;

interface Armed extends Deadline {
  readonly timer: Disposable;
}

export interface DeadlinesOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ackTimeoutMs: number;
  readonly onExpired: (deploymentId: string, kind: Deadline["kind"]) => Promise<void>;
}

/** One timer for each unfinished deployment, for whatever has to happen to it next. */
export class Deadlines implements Disposable {
  readonly #options: DeadlinesOptions;
  readonly #armed = new Map<string, Armed>();
  #disposed = false;

  constructor(options: DeadlinesOptions) {
    this.#options = options;
  }

  /** Sets the timer by what the deployment is now; clears it when the deployment is finished. */
  watch(deployment: Deployment): void {
    const { clock, ackTimeoutMs } = this.#options;
    const deadline = nextDeadline(deployment, ackTimeoutMs);
    const armed = this.#armed.get(deployment.id);
    if (armed && armed.kind === deadline?.kind && armed.atMs === deadline.atMs) return;
    armed?.timer[Symbol.dispose]();
    this.#armed.delete(deployment.id);
    if (deadline) this.#arm(deployment.id, deadline, deadline.atMs - clock.now());
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    for (const { timer } of this.#armed.values()) timer[Symbol.dispose]();
    this.#armed.clear();
  }

  #arm(id: string, deadline: Deadline, delayMs: number): void {
    if (this.#disposed) return;
    const { clock, logger, onExpired } = this.#options;
    const timer = clock.timer(delayMs, () => {
      this.#armed.delete(id);
      onExpired(id, deadline.kind).catch((error: unknown) => {
        logger.error({ err: error, deployment_id: id }, "cannot end a deployment whose time is up; trying again");
        this.#arm(id, deadline, RETRY_MS);
      });
    });
    this.#armed.set(id, { ...deadline, timer });
  }
}
