import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { auditEntry, type AuditOrigin } from "../accounts/audit-entry.ts";
import type { Bus } from "../bus/bus.ts";
import type { Asset } from "../core/asset.ts";
import { type AppCommand, appliedNames, countApps, imageOf, removedNames } from "../core/command.ts";
import type { Deployment, NewDeployment, StoredEvent } from "../core/deployment.ts";
import type { Fact } from "../core/next.ts";
import { MAX_DEPLOYMENT_DURATION_MS } from "../core/transitions.ts";
import { planWaitMs } from "../core/sims/plan-obstacle.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import { createId } from "../accounts/secrets.ts";
import type { CreateResult, DeploymentStore, Idempotency } from "../store/deployments.ts";
import type { SessionFence } from "../store/sessions.ts";
import { logStoreError, StoreUnavailableError } from "../store/unavailable.ts";
import type { CredentialCache } from "./credentials.ts";
import { DeadlineSweeper } from "./deadline-sweeper.ts";
import type { DeliveryHandler, DeploymentHandler } from "../devices/handlers.ts";
import type { DeviceGateway } from "../devices/gateway/device-gateway.ts";
import { DeviceDelivery } from "./delivery.ts";
import { readEvents } from "./event-reader.ts";
import { DeploymentExecutor } from "./executor.ts";
import { DeploymentFrames } from "./frames.ts";
import { OutcomeQueries } from "./outcome-queries.ts";
import type { FindObstacle } from "./plan-obstacle.ts";
import { StreamPoller } from "./stream-poller.ts";
import { UndeliveredSweeper } from "./undelivered-sweeper.ts";

/** Maximum silence of a stream before an empty batch keeps it alive, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

const DAY_MS = 24 * 3_600_000;

/** Number of deployments that are resumed in one transaction. */
const MAX_RESUMED_AT_ONCE = 100;

/** Maximum number of unfinished deployments of one device. */
export const MAX_RUNNING_PER_ASSET = 100;

export interface DeploymentsOptions {
  readonly store: DeploymentStore;
  readonly bus: Bus;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  /** This instance of the service. */
  readonly instanceId: string;
  /** Whether another instance does not respond. */
  readonly isUnresponsive?: (instanceId: string) => boolean;
  /** Those that this instance has in its memory. */
  readonly credentials: CredentialCache;
  /** Reaches those that other instances have. */
  readonly gateway: Pick<DeviceGateway, "credentials">;
  readonly findObstacle: FindObstacle;
  /** For a store that other instances use: how often it is read for what a lost message has not told, in milliseconds. */
  readonly pollMs?: number;
  readonly limits: DeploymentLimits;
}

interface DeploymentLimits {
  readonly ackTimeoutMs: number;
  readonly deploymentTimeoutMs: number;
  /** Maximum size of the deployments of one account in the store, in bytes. */
  readonly maxAccountBytes: number;
  /** How long a deployment is kept after its end, in milliseconds. */
  readonly retentionMs: number;
}

/** The deployments of all devices: accepts requests, brings them to devices, streams events and enforces deadlines. */
export class Deployments {
  /** Receives the frames of devices about deployments. */
  readonly frames: DeploymentHandler;
  /** Brings to devices what waits for them. */
  readonly delivery: DeliveryHandler;
  readonly #options: DeploymentsOptions;
  readonly #deadlines: DeadlineSweeper;
  readonly #executor: DeploymentExecutor;
  readonly #undelivered: UndeliveredSweeper;
  readonly #poller: StreamPoller;
  readonly #drain = new AbortController();
  /** Number of open streams of each deployment. */
  readonly #streams = new Map<string, number>();

  constructor(options: DeploymentsOptions) {
    const { store, bus, clock, logger, instanceId, gateway, findObstacle, pollMs } = options;
    const { credentials, isUnresponsive, limits } = options;
    const { ackTimeoutMs, maxAccountBytes } = limits;
    this.#options = options;
    const expireDue = (): Promise<number | undefined> => this.#executor.expireDue();
    this.#deadlines = new DeadlineSweeper({ clock, logger, expireDue, pollMs });
    this.#undelivered = new UndeliveredSweeper({ store, bus, instanceId, clock, logger, intervalMs: pollMs });
    this.#poller = new StreamPoller({ store, clock, logger, intervalMs: pollMs });
    this.#executor = new DeploymentExecutor({
      store,
      bus,
      clock,
      logger,
      ackTimeoutMs,
      isUnresponsive,
      sweepers: { deadlines: this.#deadlines, undelivered: this.#undelivered },
      credentials,
    });
    const executor = this.#executor;
    const delivery = new DeviceDelivery({ store, executor, credentials, gateway, findObstacle });
    const outcomeQueries = new OutcomeQueries({ store, executor, clock, logger });
    this.delivery = delivery;
    this.frames = new DeploymentFrames({ store, executor, outcomeQueries, delivery, maxAccountBytes });
  }

  /**
   * Resumes the deployments that were unfinished when the service was last there. For an instance that joins others there is
   * nothing to resume.
   *
   * @param isOtherDatabase whether a copy of the database, which may lack the latest, has taken its place
   */
  async recover(isOtherDatabase = false, onProgress?: () => Promise<void>): Promise<void> {
    const fact: Fact = { kind: "service_started", isOtherDatabase };
    const unfinished = await this.#options.store.listUnfinished();
    for (let from = 0; from < unfinished.length; from += MAX_RESUMED_AT_ONCE) {
      const changedMeanwhile = await this.#executor.applyAll(unfinished.slice(from, from + MAX_RESUMED_AT_ONCE), fact);
      for (const id of changedMeanwhile) await this.#executor.apply(id, fact);
      await onProgress?.();
    }
  }

  /** Begins to enforce deadlines. Must be called before the first request and the first session, and after `recover`. */
  start(): void {
    this.#deadlines.start();
  }

  /** Records that the connection to these devices was lost in the sessions that an instance had which is gone. */
  async noteLost(sessions: readonly SessionFence[]): Promise<void> {
    for (const session of sessions) await this.frames.onDisconnected(session);
  }

  /**
   * Records a deployment, which the holder of the device's session sends to it. Returns its id, or the earlier id when the
   * request repeats an `Idempotency-Key`. Errors: `IdempotencyKeyReused`, `QuotaExceeded`, `TooManyRequests`.
   */
  async request(asset: Asset, given: AppCommand, origin: AuditOrigin, idempotency?: Idempotency): Promise<string> {
    const { clock, findObstacle, limits } = this.#options;
    const { deploymentTimeoutMs, maxAccountBytes } = limits;
    const { accountId, uuid: assetUuid } = asset;
    const { command, app } = given;
    const { registry_auth: registryAuth, ...options } = given.options;
    const obstacle = await findObstacle({ accountId, assetUuid, command, options });
    const deviceWaitMs = 1000 * (given.waitForDeviceS ?? 0);
    const nowMs = clock.now();
    const waitMs = obstacle?.effect === "wait" ? Math.max(deviceWaitMs, planWaitMs(obstacle, nowMs)) : deviceWaitMs;
    const request: NewDeployment = {
      id: createId("dep_"),
      accountId,
      assetUuid,
      app,
      command,
      options,
      hasRegistryAuth: registryAuth !== undefined,
      nowMs,
      timeoutMs: Math.min(deploymentTimeoutMs * countApps(command), MAX_DEPLOYMENT_DURATION_MS - waitMs),
      waitMs: waitMs > 0 ? waitMs : undefined,
    };
    const { id } = request;
    // Before the deployment is stored: from then on a device that connects is sent the command.
    if (registryAuth) this.#options.credentials.set(id, registryAuth);
    const creation = {
      idempotency,
      limits: { maxAccountBytes, maxRunningPerAsset: MAX_RUNNING_PER_ASSET },
      audit: requestEntry(origin, clock, request, given),
    };
    const result = await this.#executor
      .create(request, { obstacle, isAwaited: deviceWaitMs > 0 }, creation)
      .catch((error: unknown) => {
        this.#dropLater(id, error);
        throw error;
      });
    if (result.kind === "created") return id;
    this.#options.credentials.drop(id);
    return this.#earlierId(asset, given, result);
  }

  /**
   * Requests to cancel a deployment, and returns it afterwards, and whether it has changed: one that is finished or being
   * cancelled does not.
   */
  async cancel(
    { id, app, assetUuid }: Pick<Deployment, "id" | "app" | "assetUuid">,
    origin: AuditOrigin,
  ): Promise<{ readonly after: Deployment | undefined; readonly hasChanged: boolean }> {
    const subject = { kind: "deployment", id };
    const entry = auditEntry(origin, this.#options.clock, { action: "deployment.cancelled", assetUuid, app, subject });
    const applied = await this.#executor.apply(id, { kind: "cancel_requested" }, undefined, entry);
    return { after: applied?.deployment, hasChanged: applied?.hasChanged === true };
  }

  /** Ends the deployments of a removed asset. The holder of its device's session tells it to undo them. */
  async cancelAll(assetUuid: string): Promise<void> {
    for (const { id } of await this.#options.store.listUnfinished(assetUuid)) {
      await this.#executor.apply(id, { kind: "asset_removed" });
    }
  }

  /** Delivers what data plans may have kept back, where none does any more. */
  deliverHeld(): void {
    this.#undelivered.sweepSoon();
  }

  /** Yields events with a `seq` above `after` until the final one, the signal or `stop`; empty batches keep it alive. */
  async *events(
    id: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredEvent[], void, undefined> {
    const { store, bus, clock } = this.#options;
    this.#streams.set(id, (this.#streams.get(id) ?? 0) + 1);
    try {
      const drain = this.#drain.signal;
      const poller = this.#poller;
      yield* readEvents(id, after, { store, bus, poller, clock, idleMs: KEEP_ALIVE_MS, drain, signal });
    } finally {
      const remaining = (this.#streams.get(id) ?? 1) - 1;
      if (remaining > 0) this.#streams.set(id, remaining);
      else this.#streams.delete(id);
    }
  }

  /** Ends the open streams, with an event that says where they continue. Unfinished deployments stay on record. */
  async stop(): Promise<void> {
    this.#deadlines[Symbol.dispose]();
    this.#undelivered[Symbol.dispose]();
    for (const id of this.#streams.keys()) {
      // Without the note the client continues the stream as well: it has the number of the last event.
      await this.#executor.apply(id, { kind: "stream_interrupted" }).catch((error: unknown) => {
        logStoreError(this.#options.logger, error, { deployment_id: id }, "cannot note that a stream is interrupted");
      });
    }
    this.#drain.abort();
  }

  /** The deployment may be on record all the same, if the store is unavailable. */
  #dropLater(id: string, error: unknown): void {
    const { clock, limits } = this.#options;
    if (error instanceof StoreUnavailableError)
      clock.timer(limits.deploymentTimeoutMs, () => this.#options.credentials.drop(id));
    else this.#options.credentials.drop(id);
  }

  /** Returns the id of the deployment that the same request created before. Throws if the request is refused. */
  async #earlierId(
    asset: Asset,
    given: AppCommand,
    result: Exclude<CreateResult, { kind: "created" | "holder_changed" }>,
  ): Promise<string> {
    switch (result.kind) {
      case "repeated":
        return result.id;
      case "conflict":
        throw keyReusedError(
          result.id,
          differenceOf(await this.#options.store.findDeployment(result.id), asset, given),
        );
      case "quota_exceeded":
        throw this.#storageQuotaError(asset, result.usedBytes);
      case "too_many_running":
        throw tooManyRunningError();
    }
  }

  #storageQuotaError({ accountId }: Asset, usedBytes: number): EdgeError {
    const { maxAccountBytes, retentionMs } = this.#options.limits;
    this.#options.logger.warn(
      { account_id: accountId, used_bytes: usedBytes, limit_bytes: maxAccountBytes },
      "storage quota exceeded",
    );
    return new EdgeError("QuotaExceeded", "The account's deployments have reached its storage quota.", {
      quota: "storage",
      used_bytes: usedBytes,
      limit_bytes: maxAccountBytes,
      kept_days: retentionMs / DAY_MS,
    });
  }
}

/** Returns the devices that have unfinished deployments. */
export async function listBusyAssets(store: Pick<DeploymentStore, "listUnfinished">): Promise<ReadonlySet<string>> {
  return new Set((await store.listUnfinished()).map(({ assetUuid }) => assetUuid));
}

/** What a request with a used key asks for that the first one did not. */
function differenceOf(
  earlier: Pick<Deployment, "assetUuid" | "app" | "command"> | undefined,
  { uuid }: Asset,
  { app, command }: AppCommand,
): string {
  if (earlier && earlier.assetUuid !== uuid) return "on another asset";
  if (earlier && earlier.app !== app) return `of another app, ${earlier.app}`;
  return earlier && earlier.command.action !== command.action
    ? `by another command, ${earlier.command.action}`
    : "with another body or options";
}

function keyReusedError(id: string, difference: string): EdgeError {
  const message = `This Idempotency-Key was used for another request, which made deployment ${id} ${difference}.`;
  return new EdgeError("IdempotencyKeyReused", message, { deployment_id: id });
}

function tooManyRunningError(): EdgeError {
  return new EdgeError("TooManyRequests", "The device has too many unfinished deployments.", {
    limit: MAX_RUNNING_PER_ASSET,
  });
}

/** The entry for a request: what is asked for, without the app itself, whose values may be secrets. */
function requestEntry(origin: AuditOrigin, clock: Clock, { id, app, assetUuid }: NewDeployment, given: AppCommand) {
  const { command, options, waitForDeviceS } = given;
  const { action } = command;
  const image = imageOf(command);
  const apps = appliedNames(command);
  const removed = removedNames(command).length > 0 ? removedNames(command) : undefined;
  return auditEntry(origin, clock, {
    action: "deployment.requested",
    assetUuid,
    app,
    subject: { kind: "deployment", id },
    details: { action, image, apps, removed, dry_run: options.dry_run, wait_for_device_s: waitForDeviceS },
  });
}
