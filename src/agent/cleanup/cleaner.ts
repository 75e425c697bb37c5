import { type Clock, deadline } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type CleanupPlan, type CleanupRules, type Removal, planCleanup } from "../core/image/image-cleanup.ts";
import { keptImageIds } from "../core/image/fleet-images.ts";
import { imagesNeeded } from "../core/image/images-needed.ts";
import type { Engine, EngineInfo, ImageSummary } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { Host } from "../host/host.ts";
import type { CrashGuard } from "../store/crash-guard.ts";
import type { AgentStore } from "../store/store.ts";
import { KeptImages } from "../store/kept-images.ts";
import { PulledImages } from "./pulled-images.ts";

const FIRST_ROUND_DELAY_MS = 15 * 60_000;
const ROUND_INTERVAL_MS = 6 * 60 * 60_000;

/** Delay before an unreachable registry is asked for the same image again, in milliseconds: requests cost data. */
const REGISTRY_RETRY_DELAY_MS = 24 * 60 * 60_000;
const REGISTRY_TIMEOUT_MS = 30_000;

export interface CleanerOptions {
  readonly engine: Engine;
  readonly store: AgentStore;
  readonly host: Host;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly rules: CleanupRules;
  readonly crashGuard: Pick<CrashGuard, "run">;
  /** Whether images are removed automatically. */
  readonly isEnabled: boolean;
  readonly engineInfo: (signal: AbortSignal) => Promise<Pick<EngineInfo, "dataRoot">>;
  /** Whether a download takes files from an image. */
  readonly isInUse: (imageId: string) => boolean;
  /** Resolves to why the image cannot be pulled again right now; `undefined` when it can. */
  readonly findPullObstacle: (
    reference: string,
    image: ImageSummary,
    signal: AbortSignal,
  ) => Promise<string | undefined>;
}

export interface CleanupRequest {
  /** Reports what would be removed, and removes nothing. */
  readonly dryRun: boolean;
  /** Removes every image that nothing needs, regardless of its age. */
  readonly all: boolean;
}

export interface CleanupResult {
  readonly removed: readonly Pick<Removal, "reference" | "bytes" | "reason">[];
  /** Images that nothing needs and that stay, with the reason. */
  readonly kept: readonly { readonly reference: string; readonly bytes: number; readonly why: string }[];
  readonly freedBytes: number;
}

/** Removes images the agent pulled and nothing needs any more: by age, and at once when the disk is nearly full. */
export class Cleaner {
  readonly #options: CleanerOptions;
  readonly #pulled: PulledImages;
  readonly #kept: KeptImages;
  /** When the registry of an image could not be reached last, monotonic milliseconds, by the image's id. */
  readonly #failedAt = new Map<string, number>();
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: CleanerOptions) {
    this.#options = options;
    this.#pulled = new PulledImages(options.store);
    this.#kept = new KeptImages(options.store);
  }

  /** Cleans up every few hours until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, isEnabled, logger, crashGuard } = this.#options;
    if (!isEnabled) return;
    for (let pause = FIRST_ROUND_DELAY_MS; !signal.aborted; pause = ROUND_INTERVAL_MS) {
      try {
        await clock.sleep(pause, signal);
        await crashGuard.run("clean-up of images", () => this.round({ dryRun: false, all: false }, signal), signal);
      } catch (error) {
        if (!signal.aborted)
          logger.warn(
            { err: error },
            "failed to clean up images; it is tried again later. By hand: edge-agent cleanup",
          );
      }
    }
  }

  /** Removes the images that may go; one round at a time. Rejects when the engine is unavailable. */
  async round(request: CleanupRequest, signal: AbortSignal): Promise<CleanupResult> {
    const before = this.#running;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running = promise;
    try {
      await before;
      return await this.#round(request, signal);
    } finally {
      resolve();
    }
  }

  async #round(request: CleanupRequest, signal: AbortSignal): Promise<CleanupResult> {
    const { engine, host, engineInfo, clock, rules, store } = this.#options;
    const images = await engine.listImages(signal);
    const freeDisk = await host.freeShare((await engineInfo(signal)).dataRoot);
    const { references } = imagesNeeded(store.apps(), store.deployments());
    const needed = this.#idsNeeded(images);
    const time = { nowMs: clock.now(), deletionMs: clock.deletionTime() };
    const view = { pulled: this.#pulled.all(), images, needed, pulling: references, freeDisk, ...time };
    const plan = planCleanup(view, request.all ? { ...rules, keepMs: -Infinity } : rules);
    if (!request.dryRun) this.#pulled.replace(plan.pulled);
    return await this.#carryOut(plan, images, request, signal);
  }

  /** Ids of images that apps and deployments need, and of those that fleets keep, also where the disk is nearly full. */
  #idsNeeded(images: readonly ImageSummary[]): ReadonlySet<string> {
    const { store } = this.#options;
    const kept = keptImageIds(this.#kept.references(), { images, pulled: this.#pulled.all() });
    return new Set([...imagesNeeded(store.apps(), store.deployments()).ids, ...kept]);
  }

  async #carryOut(
    { removals }: CleanupPlan,
    images: readonly ImageSummary[],
    { dryRun, all }: CleanupRequest,
    signal: AbortSignal,
  ): Promise<CleanupResult> {
    const removed: Removal[] = [];
    const kept: { reference: string; bytes: number; why: string }[] = [];
    for (const removal of removals) {
      const image = images.find(({ id }) => id === removal.id);
      const why =
        image &&
        ((await this.#findObstacle(removal, image, all, signal)) ??
          (await this.#remove(removal, image, dryRun, signal)));
      const { reference, bytes } = removal;
      if (why === undefined) removed.push(removal);
      else kept.push({ reference, bytes, why });
    }
    const freedBytes = removed.reduce((sum, { bytes }) => sum + bytes, 0);
    return { removed: removed.map(({ reference, bytes, reason }) => ({ reference, bytes, reason })), kept, freedBytes };
  }

  async #findObstacle(
    { reference, id }: Removal,
    image: ImageSummary,
    isRequested: boolean,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { clock, logger } = this.#options;
    const failedAt = this.#failedAt.get(id);
    if (!isRequested && failedAt !== undefined && clock.monotonic() - failedAt < REGISTRY_RETRY_DELAY_MS)
      return "its registry was asked today";
    const obstacle = await this.#findPullObstacle(reference, image, signal);
    if (obstacle === undefined) {
      this.#failedAt.delete(id);
      return undefined;
    }
    this.#failedAt.set(id, clock.monotonic());
    logger.info(
      { image: reference, reason: obstacle },
      "an image that no app needs is kept: it could not be pulled again now",
    );
    return `it could not be pulled again now: ${obstacle}`;
  }

  async #findPullObstacle(reference: string, image: ImageSummary, signal: AbortSignal): Promise<string | undefined> {
    const { clock, findPullObstacle } = this.#options;
    using limit = deadline(clock, REGISTRY_TIMEOUT_MS, signal);
    try {
      return await findPullObstacle(reference, image, limit.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (limit.signal.aborted) return "its registry did not answer in time";
      throw error;
    }
  }

  async #remove(
    { id, names, reference, bytes, reason }: Removal,
    image: ImageSummary,
    dryRun: boolean,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { engine, store, logger } = this.#options;
    // A deployment may have started to need it while the registry was asked.
    const { references } = imagesNeeded(store.apps(), store.deployments());
    if (this.#idsNeeded([image]).has(id) || references.has(reference)) return "an app needs it again";
    if (this.#options.isInUse(id)) return "a download takes files from it";
    if (dryRun) return undefined;
    try {
      for (const name of names) await engine.untagImage(name, signal);
      if (await engine.inspectImage(id, signal)) await engine.untagImage(id, signal);
    } catch (error) {
      if (!(error instanceof EngineError) || error.kind !== "conflict") throw error;
      return "a container uses it";
    }
    this.#pulled.replace(this.#pulled.all().filter((entry) => entry.id !== id));
    logger.info({ image: reference, bytes, reason }, "an image that no app needs any more was removed");
    return undefined;
  }
}
