import { type Clock, pause } from "../../lib/clock.ts";
import { logStoreError } from "../store/unavailable.ts";
import { SharedRole, type SharedRoleOptions } from "./shared-role.ts";

/** Takes or renews the lease of a loop. Resolves to false while another instance has it. */
export type AcquireLease = () => Promise<boolean>;

export interface LeasedLoopOptions extends SharedRoleOptions {
  readonly clock: Clock & SharedRoleOptions["clock"];
  /** Returns the pause while nothing is due, and after an error, in milliseconds. */
  readonly pauseMs: () => number;
  /** Message of the log when the work fails. */
  readonly failureMessage: string;
  /** Does some of what is due if it can acquire the lease. Returns whether there may be more. */
  readonly work: (signal: AbortSignal, acquire: AcquireLease) => Promise<boolean>;
}

/** Does work when it is due, at one instance at a time, until it is disposed of: again at once as long as more is due. */
export class LeasedLoop implements AsyncDisposable {
  readonly #options: LeasedLoopOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: LeasedLoopOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, logger, pauseMs, failureMessage, work } = this.#options;
    const role = new SharedRole(this.#options);
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let isMoreDue = false;
      try {
        isMoreDue = await work(signal, () => role.acquire());
      } catch (error) {
        if (!signal.aborted) logStoreError(logger, error, {}, failureMessage);
      }
      if (!isMoreDue) await pause(clock, pauseMs(), signal);
    }
    await role.release();
  }
}
