import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { DeploymentStore } from "../store/deployments.ts";
import { logStoreError } from "../store/unavailable.ts";

/** Deployments that one statement looks at. */
const MAX_AT_ONCE = 500;

/** Reads the events of a deployment. */
export interface PolledReader {
  /** Sequence number of the last event it has. */
  readonly lastSeq: number;
  readonly wake: () => void;
}

export interface StreamPollerOptions {
  readonly store: Pick<DeploymentStore, "findLastSeqs">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Pause between two looks; `undefined` if no message about an event can be lost. */
  readonly intervalMs: number | undefined;
}

/** Wakes readers of events whose message was lost. Costs nothing while there are no readers. */
export class StreamPoller {
  readonly #options: StreamPollerOptions;
  readonly #readers = new Map<string, Set<PolledReader>>();
  #timer: Disposable | undefined;

  constructor(options: StreamPollerOptions) {
    this.#options = options;
  }

  /** Looks for events for this reader until disposed. */
  add(deploymentId: string, reader: PolledReader): Disposable {
    const readers = this.#readers.get(deploymentId) ?? new Set();
    this.#readers.set(deploymentId, readers.add(reader));
    this.#schedule();
    return {
      [Symbol.dispose]: () => {
        readers.delete(reader);
        if (readers.size === 0 && this.#readers.get(deploymentId) === readers) this.#readers.delete(deploymentId);
        if (this.#readers.size > 0) return;
        this.#timer?.[Symbol.dispose]();
        this.#timer = undefined;
      },
    };
  }

  #schedule(): void {
    const { clock, intervalMs } = this.#options;
    if (intervalMs === undefined || this.#timer) return;
    const timer = clock.timer(intervalMs, () => void this.#lookAgain(timer));
    this.#timer = timer;
  }

  async #lookAgain(timer: Disposable): Promise<void> {
    await this.#look();
    if (this.#timer !== timer) return;
    this.#timer = undefined;
    if (this.#readers.size > 0) this.#schedule();
  }

  async #look(): Promise<void> {
    const { store, logger } = this.#options;
    const ids = [...this.#readers.keys()];
    try {
      for (let from = 0; from < ids.length; from += MAX_AT_ONCE) {
        const piece = ids.slice(from, from + MAX_AT_ONCE);
        const seqs = await store.findLastSeqs(piece);
        for (const id of piece) {
          // Of a removed deployment the reader finds out itself.
          const lastSeq = seqs.get(id) ?? Infinity;
          for (const reader of this.#readers.get(id) ?? []) if (reader.lastSeq < lastSeq) reader.wake();
        }
      }
    } catch (error) {
      logStoreError(logger, error, {}, "cannot look for new events of deployments that clients read; trying again");
    }
  }
}
