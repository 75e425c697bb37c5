import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { Repeat } from "../../lib/repeat.ts";
import type { Store } from "../store/store.ts";

const TRUNCATE_INTERVAL_MS = 30_000;
/** Consecutive failures, such as during a backup, after which a warning is logged. */
const MAX_SILENT_FAILURES = 20;

export interface WalTruncatorOptions {
  readonly store: Pick<Store, "truncateWal">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Truncates the database's write-ahead log every 30 seconds, if anything was written, until disposed. Otherwise
 * environment values would remain in the log after they were masked in the database.
 */
export class WalTruncator implements Disposable {
  readonly #options: WalTruncatorOptions;
  readonly #repeat: Repeat;
  #failures = 0;

  constructor(options: WalTruncatorOptions) {
    this.#options = options;
    this.#repeat = new Repeat(options.clock, TRUNCATE_INTERVAL_MS, () => this.#truncate());
  }

  [Symbol.dispose](): void {
    this.#repeat[Symbol.dispose]();
  }

  async #truncate(): Promise<void> {
    const { store, logger } = this.#options;
    const isEmpty = await store.truncateWal().catch((error: unknown) => {
      logger.debug({ err: error }, "the database's log cannot be emptied");
      return false;
    });
    this.#failures = isEmpty ? 0 : this.#failures + 1;
    if (this.#failures !== MAX_SILENT_FAILURES) return;
    logger.warn(
      "the database's log could not be emptied for 10 minutes: another process is reading the database, such as a backup; environment values that were masked remain in the log meanwhile",
    );
  }
}
