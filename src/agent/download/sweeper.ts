import { type Clock, pause } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { partsToRemove, type SweepBounds } from "../core/image/part-sweep.ts";
import type { Engine } from "../engine/engine.ts";
import { imageAddress } from "../registry/address.ts";
import type { KeptDownloads } from "./downloader-options.ts";
import type { LeftPull } from "./pull-records.ts";

export interface SweeperOptions {
  readonly engine: Pick<Engine, "inspectImage" | "untagImage">;
  readonly kept: KeptDownloads;
  readonly bounds: SweepBounds;
  /** References of the images of deployments that go on. */
  readonly pending: () => ReadonlySet<string>;
  /** Digests of the other blobs that deployments which go on download. */
  readonly pendingBlobs: () => ReadonlySet<string>;
  /** Free bytes on the file system of a path; `undefined` when unknown. */
  readonly freeBytes: (path: string) => Promise<number | undefined>;
  /** Does what the sweeper does at intervals, or nothing for now. */
  readonly attempt: (work: () => Promise<void>, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const SWEEP_INTERVAL_MS = 12 * 3_600_000;
const RETRY_DELAY_MS = 10 * 60_000;

/** Removes partial downloads that are too old, or that the disk has no space for, and what pulls have left when the agent was killed. */
export class PartSweeper {
  readonly #options: SweeperOptions;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /** Sweeps now and twice a day, until `signal` aborts; sooner again if that fails. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger, attempt } = this.#options;
    while (!signal.aborted) {
      let pauseMs = SWEEP_INTERVAL_MS;
      for (const work of [() => this.finishPulls(signal), () => this.sweep()]) {
        await attempt(work, signal).catch((error: unknown) => {
          pauseMs = RETRY_DELAY_MS;
          if (signal.aborted) return;
          logger.warn(
            { err: error },
            "failed to remove what old downloads have left; it takes disk space. It is tried again later. See: edge-agent doctor (disk)",
          );
        });
      }
      await pause(clock, pauseMs, signal);
    }
  }

  /**
   * Removes what pulls have left whose image has its name, and names on loopback of pulls that did not go on. Rejects with an
   * `EngineError`.
   */
  async finishPulls(signal: AbortSignal): Promise<void> {
    const { kept, engine, bounds, pending, clock, logger } = this.#options;
    const { parts, pulls } = kept;
    for (const left of pulls.left()) {
      const { reference, layers, names } = left.record;
      const isDone = await this.#isDone(left, signal);
      const isKept =
        repositoriesOf(pending()).has(repositoryOf(reference)) ||
        clock.deletionTime() - left.changedAt <= bounds.keepMs;
      if (!isDone && isKept) continue;
      await pulls.finish(left, async () => {
        if (isDone) await parts.remove(layers);
        for (const name of names) await engine.untagImage(name, signal);
        logger.info({ image: reference }, "removed what an interrupted pull has left");
      });
    }
  }

  /** Whether the engine has the image under its own name. */
  async #isDone({ record: { reference, ids } }: LeftPull, signal: AbortSignal): Promise<boolean> {
    const image = await this.#options.engine.inspectImage(reference, signal);
    return image !== undefined && ids.includes(image.id);
  }

  /** Removes parts that are too old, and the oldest ones while disk space is low. */
  async sweep(): Promise<void> {
    const { kept, bounds, freeBytes, pending, pendingBlobs, clock } = this.#options;
    const { parts, pulls } = kept;
    const going = repositoriesOf(pending());
    // What a deployment has paid for stays while that goes on, whatever its age and the disk say.
    const needed = new Set(
      pulls.left().flatMap(({ record }) => (going.has(repositoryOf(record.reference)) ? record.layers : [])),
    );
    const blobs = pendingBlobs();
    const idle = (await parts.idle()).filter(({ digest }) => !needed.has(digest) && !blobs.has(digest));
    if (idle.length === 0) return;
    await this.#remove(partsToRemove(idle, await freeBytes(parts.directory), clock.deletionTime(), bounds));
  }

  /** Removes all parts that are not in use, for a full disk. Resolves to whether there were any. */
  async makeRoom(): Promise<boolean> {
    const idle = await this.#options.kept.parts.idle();
    await this.#remove(idle.map(({ digest }) => digest));
    return idle.length > 0;
  }

  async #remove(digests: readonly string[]): Promise<void> {
    if (digests.length === 0) return;
    await this.#options.kept.parts.remove(digests);
    this.#options.logger.info({ parts: digests.length }, "removed abandoned partial downloads");
  }
}

/** A deployment names an image by its tag, and the record of its pull by a digest. */
function repositoryOf(reference: string): string {
  const { registry, repository } = imageAddress(reference);
  return `${registry}/${repository}`;
}

function repositoriesOf(references: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...references].map(repositoryOf));
}
