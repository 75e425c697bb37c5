import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { partsToRemove, type SweepBounds } from "../core/image/part-sweep.ts";
import type { PartStore } from "./part-store.ts";

export interface SweeperOptions {
  readonly parts: PartStore;
  readonly bounds: SweepBounds;
  /** Free bytes on the file system of a path; `undefined` when unknown. */
  readonly freeBytes: (path: string) => Promise<number | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const SWEEP_INTERVAL_MS = 12 * 3_600_000;

/** Removes partial downloads that are too old, or that the disk has no space for. */
export class PartSweeper {
  readonly #options: SweeperOptions;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /** Sweeps now and twice a day, until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.sweep().catch((error: unknown) => {
        this.#options.logger.warn(
          { err: error },
          "failed to remove old partial downloads; they take disk space. It is tried again later. See: edge-agent doctor (disk)",
        );
      });
      await this.#options.clock.sleep(SWEEP_INTERVAL_MS, signal).catch(() => {});
    }
  }

  /** Removes parts that are too old, and the oldest ones while disk space is low. */
  async sweep(): Promise<void> {
    const { parts, bounds, freeBytes, clock } = this.#options;
    const idle = await parts.idle();
    if (idle.length === 0) return;
    await this.#remove(partsToRemove(idle, await freeBytes(parts.directory), clock.now(), bounds));
  }

  /** Removes all parts that are not in use, for a full disk. Resolves to whether there were any. */
  async makeRoom(): Promise<boolean> {
    const idle = await this.#options.parts.idle();
    await this.#remove(idle.map(({ digest }) => digest));
    return idle.length > 0;
  }

  async #remove(digests: readonly string[]): Promise<void> {
    if (digests.length === 0) return;
    await this.#options.parts.remove(digests);
    this.#options.logger.info({ parts: digests.length }, "removed abandoned partial downloads");
  }
}
