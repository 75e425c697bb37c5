import { createHash } from "node:crypto";
import { createReadStream, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fullJitter } from "../../lib/backoff.ts";
import { readDescription } from "../../lib/release/description.ts";
import {
  type ChosenLayer,
  chooseLayers,
  MIN_FREE_BYTES,
  stayingVersions,
  writtenBytes,
} from "../../lib/release/held-layers.ts";
import { findObstacle } from "../../lib/release/judge.ts";
import { DESCRIPTION } from "../../lib/release/paths.ts";
import {
  type Blob,
  pathOf,
  readRelease,
  type Release,
  RELEASE_TYPES,
  type ReleaseLayer,
} from "../../lib/release/read-release.ts";
import { ReleaseError } from "../../lib/release/release-error.ts";
import { readReleases } from "../../lib/release/releases-state.ts";
import { type Statement, verifiedStatement } from "../../lib/release/statement.ts";
import type { EventContent } from "../../protocol/deployments/deployment-event.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { AgentUpdateState, DeploymentRecord } from "../core/records.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { PullCost } from "../core/image/image.ts";
import { findBudgetRefusal, findCostRefusal, projectedBytes } from "../core/image/pull-cost.ts";
import { decideLookupRetry } from "../core/image/pull-decision.ts";
import { formatSize } from "../core/text.ts";
import type { TransferProgress } from "../download/ports.ts";
import { PullReporter } from "../images/pull-reporter.ts";
import { PullSlot } from "../images/pull-slot.ts";
import { pinToDigest } from "../registry/address.ts";
import { RegistryError } from "../registry/registry-error.ts";
import type { InstalledVersions, UpdateServices } from "./agent-updates.ts";
import { runningRelease } from "./describe.ts";
import { findRelease, type FoundRelease } from "./find-release.ts";
import { handedLayout, layoutReader, replaceLayout } from "./handover.ts";

const RETRY = { baseMs: 1_000, maxMs: 30_000 };

/** The deployment that an update is, as it comes along. */
export interface UpdateProgress {
  readonly record: () => DeploymentRecord;
  readonly save: (record: DeploymentRecord) => void;
  readonly tell: (event: EventContent) => void;
}

export interface PricedRelease {
  readonly version: string;
  /** Digest of the release's index. */
  readonly digest: string;
  readonly cost: PullCost;
}

export type BroughtRelease =
  /** It is what runs. */
  | { readonly kind: "installed"; readonly version: string }
  /** A dry run: nothing was downloaded. */
  | ({ readonly kind: "priced" } & PricedRelease)
  /** It is where the updater reads it. */
  | { readonly kind: "ready"; readonly version: string };

/**
 * Brings a release to where the updater reads it. Whatever can be known before the first byte of it is found out before: the
 * updater checks all of that again, since it does not trust the agent. Safe to repeat.
 *
 * Rejects with a `ReleaseError`, a `RegistryError`, a `DownloadError`, an `EdgeError`, or the signal's reason.
 */
export async function bringRelease(
  services: UpdateServices,
  progress: UpdateProgress,
  signal: AbortSignal,
): Promise<BroughtRelease> {
  return await new Bringing(services, progress).run(signal);
}

interface Download {
  readonly found: FoundRelease;
  readonly missing: readonly Blob[];
  readonly cost: PullCost;
}

const NOTHING: TransferProgress = { done: 0, total: 0, received: 0, cuts: 0 };

class Bringing {
  readonly #services: UpdateServices;
  readonly #progress: UpdateProgress;

  constructor(services: UpdateServices, progress: UpdateProgress) {
    this.#services = services;
    this.#progress = progress;
  }

  async run(signal: AbortSignal): Promise<BroughtRelease> {
    this.#requireUpdatable();
    const { versions, source } = this.#services;
    const { pin, trial } = readReleases(versions.releasesFolder);
    // Whatever the release is, so nothing is asked about it.
    if (pin !== undefined) throw new ReleaseError("pinned", `a person has pinned this device to ${pin}`);
    if (trial) throw new ReleaseError("on_trial", `release ${trial.version} is on trial`);
    const keys = source.readKeys();
    const statementOf = (envelope: Uint8Array): Statement => verifiedStatement(envelope, keys);
    const found = await this.#find(statementOf, signal);
    const { version, index: digest } = found.release.statement;
    if (version === runningDescription(versions).version) return { kind: "installed", version };
    const obstacle = this.#obstacleTo(found.release.statement);
    if (obstacle) throw obstacle;
    const layers = await this.#chosenLayers(found.release);
    const missing = layers.flatMap(({ layer, held }) => (held ? [] : [layer]));
    const isHanded = await this.#isHanded(digest, missing, statementOf);
    const written = writtenBytes(layers, versions.packageFolder);
    const cost = costOf(found.release, isHanded ? [] : missing, written);
    await this.#requireAffordable(cost);
    if (this.#record.options.dry_run) return { kind: "priced", version, digest, cost };
    if (!isHanded) await this.#download({ found, missing, cost }, signal);
    return { kind: "ready", version };
  }

  get #record(): DeploymentRecord {
    return this.#progress.record();
  }

  get #update(): AgentUpdateState {
    return this.#record.agentUpdate ?? {};
  }

  #tell(event: EventContent): void {
    this.#progress.tell(event);
  }

  #requireUpdatable(): void {
    const { packageFolder, releasesFolder, program } = this.#services.versions;
    const isPackaged = dirname(program) === packageFolder && existsSync(join(packageFolder, DESCRIPTION));
    if (!isPackaged && runningRelease(program, releasesFolder) === "package")
      throw new EdgeError("AgentUpdateUnsupported");
  }

  async #find(statementOf: (envelope: Uint8Array) => Statement, signal: AbortSignal): Promise<FoundRelease> {
    const { versions, source, bounds, clock, random } = this.#services;
    const { architecture } = versions;
    const { attempts, ledger } = bounds;
    const countReceived = (bytes: number): void =>
      ledger.count({ purpose: "agent", direction: "received", bytes, carriedAs: "agent", deployment: this.#record.id });
    for (let attempt = 1; ; attempt++) {
      const location = await source.locate(this.#update, this.#record.options.registry_auth, signal);
      const reference = pinToDigest(location.reference, this.#record.digest);
      if (attempt === 1) this.#tell(runningEvent("checking", `Asking the registry for release ${location.reference}.`));
      try {
        const found = await findRelease(
          source.registry,
          { ...location, reference },
          { statementOf, architecture },
          signal,
        );
        countReceived(found.receivedBytes);
        this.#progress.save({ ...this.#record, digest: found.release.statement.index });
        const { version } = this.#update;
        if (version !== undefined && version !== found.release.statement.version)
          throw new ReleaseError("malformed", `the release is ${found.release.statement.version}, and not ${version}`);
        return found;
      } catch (error) {
        if (!(error instanceof RegistryError)) throw error;
        countReceived(error.receivedBytes);
        const lookup = { reference, policy: "newest" as const, attempt, attempts, requiresCost: true };
        const hasCredentials = location.auth !== undefined;
        if (decideLookupRetry(error.kind, { ...lookup, hasCredentials, present: false }) !== "retry") throw error;
        const delay = fullJitter(attempt, RETRY, random());
        const again = `attempt ${attempt + 1} of ${attempts} in ${Math.ceil(delay / 1000)} s`;
        this.#tell(runningEvent("checking", `The registry cannot be reached (${error.message}); ${again}.`));
        await clock.sleep(delay, signal);
      }
    }
  }

  #obstacleTo(statement: Statement): ReleaseError | undefined {
    const { settings, versions } = this.#services;
    const { downgrade = false, again = false } = this.#update;
    return findObstacle({
      statement,
      running: runningDescription(versions),
      state: readReleases(versions.releasesFolder),
      request: { downgrade, again },
      mayDowngrade: settings.mayDowngrade,
    });
  }

  /** The layers, with those that the device has, as most releases share Node.js. */
  async #chosenLayers({ layers }: Release): Promise<ChosenLayer[]> {
    const { versions } = this.#services;
    return await chooseLayers(layers, stayingVersions(versions, readReleases(versions.releasesFolder)));
  }

  async #requireAffordable(cost: PullCost): Promise<void> {
    const { bounds, versions } = this.#services;
    const refusal = findCostRefusal(cost, { ...this.#limits(), freeBytes: undefined, reserveBytes: 0 });
    if (refusal) throw new EdgeError(refusal.code, refusal.message, refusal.details);
    // The download, its copy for the updater, and what that unpacks.
    const needed = 2 * cost.downloadBytes + cost.diskBytes + MIN_FREE_BYTES;
    const free = await bounds.freeBytes(versions.stateDir);
    if (free === undefined || free >= needed) return;
    const text = `The release needs ${formatSize(needed)} of disk space, and ${formatSize(free)} are free.`;
    throw new EdgeError("InsufficientDisk", text, { needed_bytes: needed, free_bytes: free });
  }

  #limits() {
    return {
      maxImageBytes: undefined,
      deviceMaxDownloadBytes: this.#services.bounds.maxBytes,
      requestMaxDownloadBytes: this.#record.options.max_download_bytes,
    };
  }

  /** Whether the updater has all that is missing already, as after a power cut or a first attempt. */
  async #isHanded(
    index: string,
    missing: readonly ReleaseLayer[],
    statementOf: (envelope: Uint8Array) => Statement,
  ): Promise<boolean> {
    const { stateDir, architecture } = this.#services.versions;
    const folder = handedLayout(stateDir);
    try {
      const release = readRelease(layoutReader(folder), statementOf, architecture);
      if (release.statement.index !== index) return false;
      for (const { digest } of missing) {
        const hash = createHash("sha256");
        await pipeline(createReadStream(join(folder, ...pathOf(digest))), hash);
        if (`sha256:${hash.digest("hex")}` !== digest) return false;
      }
      return true;
    } catch {
      // There is none, or a part of one.
      return false;
    }
  }

  async #download({ found, missing, cost }: Download, cancelled: AbortSignal): Promise<void> {
    const { versions, source, bounds, clock, logger } = this.#services;
    const { gate, slots, ledger } = bounds;
    const { id, options } = this.#record;
    const stopped = new AbortController();
    const signal = AbortSignal.any([cancelled, stopped.signal]);
    const emit = (event: EventContent): void => this.#tell(event);
    const isUrgent = options.urgent ?? false;
    emit(runningEvent("pulling", `${formatSize(cost.downloadBytes)} to download.`));
    await gate.admit({ bytes: cost.downloadBytes, isUrgent, emit, signal });
    if (slots.isFull) emit(runningEvent("pulling", "Waiting for another download to finish."));
    using slot = await PullSlot.acquire(slots, clock, signal);
    const location = await source.locate(this.#update, options.registry_auth, signal);
    const owner = { app: this.#record.app, deployment: id };
    const reporter = new PullReporter({ clock, logger }, { what: "release", owner, emit });
    /** What the layers before have come to. */
    let before = NOTHING;
    const inAll = (now: TransferProgress): TransferProgress => ({
      done: before.done + now.done,
      total: cost.downloadBytes,
      received: before.received + now.received,
      cuts: before.cuts + now.cuts,
    });
    await replaceLayout(versions.stateDir, found.documents, async (folder) => {
      for (const { digest, bytes: size } of missing) {
        const path = join(folder, ...pathOf(digest));
        mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
        before = inAll(
          await source.blobs.download({
            image: found.image,
            blob: { mediaType: RELEASE_TYPES.layer, digest, size },
            auth: location.auth,
            path,
            onProgress: (now) => {
              const downloadBytes = projectedBytes(inAll(now));
              const refusal = findBudgetRefusal({ ...cost, downloadBytes }, this.#limits());
              if (refusal) stopped.abort(new EdgeError(refusal.code, refusal.message, refusal.details));
              reporter.progress(inAll(now));
            },
            onInterruption: (interruption) => reporter.interrupted(interruption),
            onReceived: (bytes) => {
              slot.renew();
              ledger.count({ purpose: "agent", direction: "received", bytes, carriedAs: "agent", deployment: id });
            },
            signal,
          }),
        );
      }
    });
    emit(runningEvent("pulling", `The release is on the device: ${formatSize(before.received)} were received.`));
  }
}

/** Returns the version that runs, and the oldest that it can be replaced by. */
export function runningDescription({
  program,
  packageFolder,
  releasesFolder,
}: InstalledVersions): ReturnType<typeof readDescription> {
  const running = runningRelease(program, releasesFolder);
  return readDescription(running === "package" ? packageFolder : join(releasesFolder, running));
}

/** @param missing layers that are fetched @param diskBytes bytes that installing it writes */
function costOf({ layers }: Release, missing: readonly Blob[], diskBytes: number): PullCost {
  const downloadBytes = bytesOf(missing);
  return {
    downloadBytes,
    diskBytes,
    imageBytes: bytesOf(layers),
    layers: layers.length,
    layersPresent: layers.length - missing.length,
    reusedBytes: 0,
    transferBytes: downloadBytes,
  };
}

function bytesOf(blobs: readonly Blob[]): number {
  return blobs.reduce((sum, { bytes }) => sum + bytes, 0);
}
