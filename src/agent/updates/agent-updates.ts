import type { KeyObject } from "node:crypto";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { readReleases, type VersionFolders } from "../../lib/release/releases-state.ts";
import type { Semaphore } from "../../lib/semaphore.ts";
import { AGENT_APP, type AgentUpdate, agentUpdateSchema } from "../../protocol/agents/agent-update.ts";
import type { DeployOptions } from "../../protocol/apps/deploy-request.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { toInvalidRequest } from "../../protocol/errors/request-error.ts";
import { IN_WORDS } from "../../protocol/values/issue-words.ts";
import { toRequestFailure } from "../core/deployment/accept.ts";
import { type DeploymentRecord, type Failure, newRecord } from "../core/records.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { BlobDownloader } from "../download/blob-download.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { PullGate } from "../ledger/pull-gate.ts";
import type { CommandHandler } from "../link/ports.ts";
import type { RegistryClient } from "../registry/registry.ts";
import type { AgentStore } from "../store/store.ts";
import type { ReleaseLocation } from "./find-release.ts";
import type { AgentUpdateRun } from "./update-run.ts";

/** The versions of the agent that this device has, and the one that runs. */
export interface InstalledVersions extends VersionFolders {
  readonly stateDir: string;
  /** Path of this process's program. */
  readonly program: string;
  /** OCI's name of this machine's architecture. */
  readonly architecture: string;
}

/** Where releases come from, and whose they may be. */
export interface ReleaseSource {
  readonly registry: Pick<RegistryClient, "resolve" | "findArtifact" | "openBlob">;
  readonly blobs: Pick<BlobDownloader, "download">;
  /** Where a release is, and the credentials for it. Rejects with a `RegistryError`. */
  readonly locate: (
    update: AgentUpdate,
    auth: DeployOptions["registry_auth"],
    signal: AbortSignal,
  ) => Promise<ReleaseLocation>;
  /** Reads the keys of those who may sign releases. Throws a `ReleaseError` if there is none. */
  readonly readKeys: () => readonly KeyObject[];
}

/** What bounds the download of a release, and counts it. */
export interface DownloadBounds {
  readonly gate: PullGate;
  readonly slots: Semaphore;
  readonly ledger: Ledger;
  readonly attempts: number;
  /** Limit for the download of one deployment; `undefined` for none. */
  readonly maxBytes: number | undefined;
  readonly freeBytes: (path: string) => Promise<number | undefined>;
}

/** What updates of the agent use. */
export interface UpdateServices {
  readonly store: AgentStore;
  readonly versions: InstalledVersions;
  readonly source: ReleaseSource;
  readonly bounds: DownloadBounds;
  readonly settings: { readonly mayDowngrade: boolean; readonly trialS: number };
  /** Whether a deployment is doing something, and not only waiting. */
  readonly isWorking: () => boolean;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
}

interface ActiveUpdate {
  /** Absent while its code is loaded. */
  run?: AgentUpdateRun;
  readonly ended: Promise<void>;
}

/** Name of the learned value with the id of the update that root has noted, once it has ended. */
export const ENDED_UPDATE = "ended_update";

/** Updates of the agent itself: accepts them, runs one at a time, and resumes it after the restart that is a part of it. */
export class AgentUpdates implements Pick<CommandHandler, "updateAgent">, AsyncDisposable {
  readonly #services: UpdateServices;
  readonly #active = new Map<string, ActiveUpdate>();
  #isStopped = false;

  constructor(services: UpdateServices) {
    this.#services = services;
  }

  /** Must be called once, before commands arrive. */
  resume(): void {
    try {
      this.#restoreLost();
    } catch (error) {
      this.#services.logger.error({ err: error }, "an update of the agent that the store has lost cannot be restored");
    }
    for (const record of this.#pending()) this.#launch(record);
  }

  updateAgent(deploymentId: string, input: unknown, options: DeployOptions = {}): void {
    const { store, logger } = this.#services;
    if (store.deployment(deploymentId) || store.finalStatusOf(deploymentId)) return;
    if (store.isFull())
      throw new EdgeError("InsufficientDisk", "The device's disk is full: not even the request can be stored.");
    const parsed = agentUpdateSchema.safeParse(input, IN_WORDS);
    const base = {
      ...newRecord(deploymentId, store.nextOrder(), undefined),
      action: "update_agent",
      app: AGENT_APP,
    } as const;
    const failure = parsed.success
      ? this.#findConflict(options)
      : toRequestFailure(toInvalidRequest(parsed.error, agentUpdateSchema));
    const record: DeploymentRecord = {
      ...base,
      options,
      failure,
      ...(parsed.success && { agentUpdate: parsed.data }),
    };
    store.save({
      deployment: record,
      events: [runningEvent("checking", "Checking whether the agent can be updated.")],
    });
    logger.info({ deployment: deploymentId, ...parsed.data }, "update of the agent accepted");
    this.#launch(record);
  }

  /** Returns whether the deployment is an update of the agent. */
  cancel(deploymentId: string, failure: Failure): boolean {
    const { store } = this.#services;
    const record = store.deployment(deploymentId);
    if (record?.action !== "update_agent") return false;
    const active = this.#active.get(deploymentId);
    if (active?.run) active.run.fail(failure);
    else if (record.outcome === "pending")
      store.save({ deployment: { ...record, failure: record.failure ?? failure } });
    // What is confirmed stays: nothing but another update leads away from it.
    else if (record.outcome === "succeeded")
      store.save({
        deployment: { ...record, outcome: "failed", failure },
        events: [
          { status: "Fail", step: "done", code: failure.code, message: `${failure.message} The new version stays.` },
        ],
      });
    return true;
  }

  /** Stops the updates; they are resumed at the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    for (const { run } of this.#active.values()) run?.stop();
    await Promise.all([...this.#active.values()].map(({ ended }) => ended));
  }

  /**
   * Restores the update whose release is or was on trial, if the store knows neither it nor its end: from what root has noted, where
   * no release can write. Whatever a release does to the store, the version that comes back ends the update.
   */
  #restoreLost(): void {
    const { store, versions, logger } = this.#services;
    const { deployment: lost, trial, setAside } = readReleases(versions.releasesFolder);
    if (!lost || store.deployment(lost.id) || store.finalStatusOf(lost.id)) return;
    // The note is there for longer than the history.
    if (store.learnedValue(ENDED_UPDATE) === lost.id) return;
    const { id, version, request } = lost;
    const attempt = (trial?.version === version ? trial : setAside.get(version))?.attempt ?? 0;
    const record: DeploymentRecord = {
      ...newRecord(id, store.nextOrder(), undefined),
      action: "update_agent",
      app: AGENT_APP,
      agentUpdate: { version, handedOver: { request, version, attempt }, isStoreLost: true },
    };
    const message = `The agent's store was lost, and with it the update to release ${version}. It is carried on from what root has noted.`;
    store.save({ deployment: record, events: [runningEvent("verifying", message)] });
    logger.error({ deployment: id, release: version }, message);
  }

  /** Dry runs change nothing, so any number of them may go on. */
  #findConflict({ dry_run: isDryRun }: DeployOptions): Failure | undefined {
    const other = isDryRun ? undefined : this.#pending().find(({ options }) => !options.dry_run);
    return other && toRequestFailure(new EdgeError("AgentUpdateInProgress", undefined, { deployment_id: other.id }));
  }

  #pending(): DeploymentRecord[] {
    const all = this.#services.store.deployments();
    return all.filter(({ action, outcome }) => action === "update_agent" && outcome === "pending");
  }

  #launch({ id }: DeploymentRecord): void {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const active: ActiveUpdate = { ended };
    this.#active.set(id, active);
    void this.#run(id, active)
      .catch((error: unknown) => {
        this.#services.logger.error({ err: error, deployment: id }, "an update of the agent cannot be carried out");
      })
      .finally(() => {
        this.#active.delete(id);
        resolve();
      });
  }

  /** The code is loaded with the first update only. */
  async #run(id: string, active: ActiveUpdate): Promise<void> {
    const { AgentUpdateRun } = await import("./update-run.ts");
    const record = this.#services.store.deployment(id);
    if (!record || this.#isStopped) return;
    active.run = new AgentUpdateRun(this.#services, record);
    await active.run.run();
  }
}
