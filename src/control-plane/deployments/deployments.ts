import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { appliedApps, removedApps } from "../../protocol/applied-apps.ts";
import type { RegistryAuth } from "../../protocol/deploy-request.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { auditEntry, type AuditOrigin } from "../audit/audit-entry.ts";
import type { Bus } from "../bus/bus.ts";
import type { Asset } from "../core/asset.ts";
import { type AppCommand, countApps } from "../core/command.ts";
import { noteStreamInterrupted } from "../core/connection-notes.ts";
import { type Deployment, type DeploymentChange, newDeployment } from "../core/deployment.ts";
import { markUncertainOnStart } from "../core/resolve-outcome.ts";
import { appendEvent } from "../core/event-log.ts";
import { fail, MAX_DEPLOYMENT_DURATION_MS, receivedEvent, requestCancel } from "../core/transitions.ts";
import { planWaitMs, type PlanObstacle, refuseForPlan, waitForPlan } from "../core/sims/plan-obstacle.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import { waitForDevice } from "../core/waiting.ts";
import { createId } from "../secrets.ts";
import type { DeploymentStore, Idempotency, StoredEvent } from "../store/deployments.ts";
import type { SessionFence } from "../store/sessions.ts";
import { logStoreError, StoreUnavailableError } from "../store/unavailable.ts";
import { CredentialCache } from "./credentials.ts";
import { DeadlineSweeper } from "./deadline-sweeper.ts";
import { RecordingDeploymentHandler } from "./deployment-handler.ts";
import type { DeploymentHandler } from "../devices/handlers.ts";
import type { DeviceGateway } from "../gateway/device-gateway.ts";
import { DeviceDelivery } from "./device-delivery.ts";
import { Dispatcher } from "./dispatcher.ts";
import { readEvents } from "./event-reader.ts";
import { OutcomeQueries } from "./outcome-queries.ts";
import { Recorder } from "./recorder.ts";
import type { PlanGate } from "./plan-gate.ts";
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
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  readonly logger: Logger;
  /** This instance of the service. */
  readonly instanceId: string;
  /** Whether another instance does not respond. */
  readonly isUnresponsive?: (instanceId: string) => boolean;
  readonly gateway: Pick<DeviceGateway, "credentials">;
  readonly planGate: Pick<PlanGate, "findObstacle">;
  /** For a store that other instances use: how often it is read for what a lost message has not told, in milliseconds. */
  readonly pollMs?: number;
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
  readonly deploymentHandler: DeploymentHandler;
  readonly #options: DeploymentsOptions;
  readonly #deadlines: DeadlineSweeper;
  readonly #credentials = new CredentialCache();
  readonly #recorder: Recorder;
  readonly #undelivered: UndeliveredSweeper;
  readonly #poller: StreamPoller;
  readonly #drain = new AbortController();
  /** Number of open streams of each deployment. */
  readonly #streams = new Map<string, number>();

  constructor(options: DeploymentsOptions) {
    const { store, bus, clock, serviceClock, logger, instanceId, gateway, planGate, ackTimeoutMs, pollMs } = options;
    this.#options = options;
    this.#deadlines = new DeadlineSweeper({
      clock,
      serviceClock,
      logger,
      expireDue: () => this.#recorder.expireDue(),
      pollMs,
    });
    const credentials = this.#credentials;
    this.#recorder = new Recorder({
      store,
      bus,
      clock,
      serviceClock,
      logger,
      ackTimeoutMs,
      isUnresponsive: options.isUnresponsive,
      deadlines: this.#deadlines,
      credentials,
      onUnknownResult: () => this.#undelivered.sweepSoon(),
    });
    this.#undelivered = new UndeliveredSweeper({ store, bus, instanceId, clock, logger, intervalMs: pollMs });
    this.#poller = new StreamPoller({ store, clock, logger, intervalMs: pollMs });
    const { maxAccountBytes } = options;
    const dispatcher = new Dispatcher({ store, recorder: this.#recorder, credentials, gateway, planGate });
    const shared = { store, clock, logger, recorder: this.#recorder };
    this.deploymentHandler = new RecordingDeploymentHandler({
      store,
      recorder: this.#recorder,
      outcomeQueries: new OutcomeQueries(shared),
      delivery: new DeviceDelivery(store, dispatcher),
      maxAccountBytes,
    });
  }

  /**
   * Resumes the deployments that were unfinished when the service was last there. For an instance that joins others there is
   * nothing to resume.
   *
   * @param isOtherDatabase whether a copy of the database, which may lack the latest, has taken its place
   */
  async recover(isOtherDatabase = false, onProgress?: () => Promise<void>): Promise<void> {
    const { store, ackTimeoutMs } = this.#options;
    const unfinished = await store.listUnfinished();
    for (let from = 0; from < unfinished.length; from += MAX_RESUMED_AT_ONCE) {
      const ids = unfinished.slice(from, from + MAX_RESUMED_AT_ONCE).map(({ id }) => id);
      await this.#recorder.resumeAll(ids, (current, now) =>
        markUncertainOnStart(isOtherDatabase ? markFromBackup(current) : current, now, ackTimeoutMs),
      );
      await onProgress?.();
    }
  }

  /** Begins to enforce deadlines. Must be called before the first request and the first session, and after `recover`. */
  start(): void {
    this.#deadlines.start();
  }

  /** Returns the devices that have unfinished deployments. */
  async listBusyAssets(): Promise<ReadonlySet<string>> {
    return new Set((await this.#options.store.listUnfinished()).map(({ assetUuid }) => assetUuid));
  }

  /** Records that the connection to these devices was lost in the sessions that an instance had which is gone. */
  async noteLost(sessions: readonly SessionFence[]): Promise<void> {
    for (const session of sessions) await this.deploymentHandler.onDisconnected(session);
  }

  /**
   * Records a deployment, which whoever holds the device's session sends to it. Returns its id, or the earlier id when the
   * request repeats an `Idempotency-Key`. Errors: `IdempotencyKeyReused`, `QuotaExceeded`, `TooManyRequests`.
   */
  async request(asset: Asset, command: AppCommand, origin: AuditOrigin, idempotency?: Idempotency): Promise<string> {
    const { clock, planGate, deploymentTimeoutMs, maxAccountBytes } = this.#options;
    const { action, app, spec } = command;
    const { registry_auth: registryAuth, ...options } = command.options;
    const obstacle = await planGate.findObstacle({
      accountId: asset.accountId,
      assetUuid: asset.uuid,
      action,
      options,
    });
    const deviceWaitMs = 1000 * (command.waitForDeviceS ?? 0);
    const nowMs = clock.now();
    const waitMs = obstacle?.effect === "wait" ? Math.max(deviceWaitMs, planWaitMs(obstacle, nowMs)) : deviceWaitMs;
    const deployment = newDeployment({
      id: createId("dep_"),
      accountId: asset.accountId,
      assetUuid: asset.uuid,
      app,
      action,
      spec,
      options,
      hasRegistryAuth: registryAuth !== undefined,
      nowMs,
      timeoutMs: Math.min(deploymentTimeoutMs * countApps(command), MAX_DEPLOYMENT_DURATION_MS - waitMs),
      waitMs: waitMs > 0 ? waitMs : undefined,
    });
    const { id } = deployment;
    // Before the deployment is stored: from then on a device that connects is sent the command.
    if (registryAuth) this.#credentials.set(id, registryAuth);
    const limits = { maxAccountBytes, maxRunningPerAsset: MAX_RUNNING_PER_ASSET };
    const first = firstEvent(deployment);
    const result = await this.#recorder
      .create(
        deployment,
        first,
        idempotency,
        limits,
        (current, now) => receive(current, now, obstacle, deviceWaitMs > 0),
        requestEntry(origin, clock, deployment, command),
      )
      .catch((error: unknown) => {
        this.#dropLater(id, error);
        throw error;
      });
    if (result.kind !== "created") this.#credentials.drop(id);
    if (result.kind === "conflict") throw new EdgeError("IdempotencyKeyReused");
    if (result.kind === "quota_exceeded") throw this.#storageQuotaError(asset, result.usedBytes);
    if (result.kind === "too_many_running") throw tooManyRunningError();
    return result.kind === "repeated" ? result.id : id;
  }

  /**
   * Requests to cancel a deployment, and returns it afterwards, and whether it has changed: one that is finished or being
   * cancelled does not.
   */
  async cancel(
    { id, app, assetUuid }: Pick<Deployment, "id" | "app" | "assetUuid">,
    origin: AuditOrigin,
  ): Promise<{ readonly after: Deployment | undefined; readonly hasChanged: boolean }> {
    let hasChanged = false;
    const subject = { kind: "deployment", id };
    const entry = auditEntry(origin, this.#options.clock, { action: "deployment.cancelled", assetUuid, app, subject });
    const decide = (current: Deployment, now: number): DeploymentChange | undefined => {
      // While the outcome is uncertain, only the device knows whether the deployment has ended.
      const mustAskDevice = current.uncertainty !== undefined || current.holder !== undefined;
      const change = mustAskDevice ? requestCancel(current, now) : fail(current, now, "DeploymentCancelled");
      hasChanged = change !== undefined;
      return change;
    };
    const after = await this.#recorder.update(id, decide, undefined, entry);
    return { after, hasChanged };
  }

  /** Ends the deployments of a removed asset. The holder of its device's session tells it to undo them. */
  async cancelAll(assetUuid: string): Promise<void> {
    for (const { id } of await this.#options.store.listUnfinished(assetUuid)) {
      await this.#recorder.update(id, (current, now) => fail(current, now, "DeploymentCancelled"));
    }
  }

  /** Delivers what data plans may have kept back, where none does any more. */
  deliverHeld(): void {
    this.#undelivered.sweepSoon();
  }

  /** Returns the registry credentials of a deployment that this instance has in its memory. */
  findCredentials(id: string): RegistryAuth | undefined {
    return this.#credentials.find(id);
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
      await this.#recorder.update(id, noteStreamInterrupted).catch((error: unknown) => {
        logStoreError(this.#options.logger, error, { deployment_id: id }, "cannot note that a stream is interrupted");
      });
    }
    this.#drain.abort();
  }

  /** The deployment may be on record all the same, if the store is unavailable. */
  #dropLater(id: string, error: unknown): void {
    const { clock, deploymentTimeoutMs } = this.#options;
    if (error instanceof StoreUnavailableError) clock.timer(deploymentTimeoutMs, () => this.#credentials.drop(id));
    else this.#credentials.drop(id);
  }

  #storageQuotaError({ accountId }: Asset, usedBytes: number): EdgeError {
    const { logger, maxAccountBytes, retentionMs } = this.#options;
    logger.warn(
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

/** The record may be behind what the device has done and what the client was told. */
function markFromBackup(deployment: Deployment): Deployment {
  return deployment.uncertainty === "restored" ? deployment : { ...deployment, uncertainty: "backup" };
}

/**
 * Ends a new deployment whose device is not connected, unless its client waits, and ends or keeps back one in whose way a data
 * plan stands.
 */
function receive(
  deployment: Deployment,
  nowMs: number,
  obstacle: PlanObstacle | undefined,
  isAwaited: boolean,
): DeploymentChange | undefined {
  if (obstacle?.effect === "urgent") return refuseForPlan(deployment, nowMs, obstacle);
  const isAway = deployment.holder === undefined;
  if (obstacle && (isAwaited || !isAway)) return waitForPlan(deployment, nowMs, obstacle);
  if (!isAway) return undefined;
  const waiting = isAwaited && waitForDevice(deployment, nowMs, "The device is not connected; waiting for it");
  if (waiting) return waiting;
  // Nothing was sent that would have to be undone.
  const change = fail(deployment, nowMs, "DeviceNotReachable");
  return change && { ...change, fields: { ...change.fields, delivery: undefined } };
}

function tooManyRunningError(): EdgeError {
  return new EdgeError("TooManyRequests", "The device has too many unfinished deployments.", {
    limit: MAX_RUNNING_PER_ASSET,
  });
}

/** The entry for a request: what is asked for, without the app itself, whose values may be secrets. */
function requestEntry(origin: AuditOrigin, clock: Clock, { id, app, assetUuid }: Deployment, command: AppCommand) {
  const { action, spec, options, waitForDeviceS } = command;
  const { image } = (spec ?? {}) as { readonly image?: unknown };
  const apps =
    action === "apply" ? appliedApps(spec).map((each) => (each as { readonly name?: unknown }).name) : undefined;
  const removed = action === "apply" && removedApps(spec).length > 0 ? removedApps(spec) : undefined;
  return auditEntry(origin, clock, {
    action: "deployment.requested",
    assetUuid,
    app,
    subject: { kind: "deployment", id },
    details: { action, image, apps, removed, dry_run: options.dry_run, wait_for_device_s: waitForDeviceS },
  });
}

function firstEvent(deployment: Deployment) {
  const change = appendEvent(deployment, receivedEvent(deployment), deployment.createdAtMs);
  if (!change?.event) throw new Error("a new deployment did not accept its first event");
  return change.event;
}
