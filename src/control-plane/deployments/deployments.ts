import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors.ts";
import type { Bus } from "../bus/bus.ts";
import type { Asset } from "../core/asset.ts";
import type { AppCommand } from "../core/command.ts";
import { connectionEpoch } from "../core/connection.ts";
import { noteStreamInterrupted } from "../core/connection-notes.ts";
import { expire } from "../core/deadlines.ts";
import { type DeploymentChange, type Deployment, newDeployment } from "../core/deployment.ts";
import { markUncertainOnStart } from "../core/resolve-outcome.ts";
import { appendEvent } from "../core/event-log.ts";
import { cancelReason } from "../core/reconcile.ts";
import { fail, receivedEvent, requestCancel } from "../core/transitions.ts";
import { createId } from "../secrets.ts";
import type { DeploymentStore, Idempotency, StoredEvent } from "../store/deployments.ts";
import { CredentialCache } from "./credentials.ts";
import { DeadlineTimers, type ExpiredDeadline } from "./deadlines.ts";
import { RecordingDeploymentHandler } from "./deployment-handler.ts";
import type { DeploymentHandler } from "../devices/handlers.ts";
import type { DeviceDirectory } from "../devices/session.ts";
import { Dispatcher } from "./dispatcher.ts";
import { readEvents } from "./event-reader.ts";
import { OutcomeQueries } from "./outcome-queries.ts";
import { Recorder } from "./recorder.ts";

/** How long a stream may be silent before something has to be sent to keep it alive, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

const DAY_MS = 24 * 3_600_000;

/** Most deployments of one device that may be under way at once. */
export const MAX_RUNNING_PER_ASSET = 100;

export interface DeploymentsOptions {
  readonly store: DeploymentStore;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly devices: DeviceDirectory;
  readonly ackTimeoutMs: number;
  readonly deploymentTimeoutMs: number;
  /** Most bytes that the deployments of one account take in the store. */
  readonly maxAccountBytes: number;
  /** How long a deployment is kept after its end, in milliseconds. */
  readonly retentionMs: number;
}

/** The deployments of all devices: asked for by clients, carried out by devices, ended by whatever comes first. */
export class Deployments {
  /** What the devices' side talks to. */
  readonly deploymentHandler: DeploymentHandler;
  readonly #options: DeploymentsOptions;
  readonly #deadlines: DeadlineTimers;
  readonly #credentials = new CredentialCache();
  readonly #recorder: Recorder;
  readonly #dispatcher: Dispatcher;
  readonly #drain = new AbortController();
  /** How many streams are open of each deployment. */
  readonly #streams = new Map<string, number>();

  constructor(parts: DeploymentsOptions) {
    const { store, bus, clock, logger, devices, ackTimeoutMs, maxAccountBytes } = parts;
    this.#options = parts;
    this.#deadlines = new DeadlineTimers({
      clock,
      logger,
      ackTimeoutMs,
      onExpired: (id, passed) => this.#expire(id, passed),
    });
    const credentials = this.#credentials;
    this.#recorder = new Recorder({ store, bus, clock, logger, deadlines: this.#deadlines, credentials });
    this.#dispatcher = new Dispatcher(this.#recorder, credentials);
    const shared = { store, clock, logger, devices, recorder: this.#recorder, dispatcher: this.#dispatcher };
    this.deploymentHandler = new RecordingDeploymentHandler({
      store,
      recorder: this.#recorder,
      outcomeQueries: new OutcomeQueries(shared),
      maxAccountBytes,
    });
  }

  /**
   * Takes up the deployments an earlier process left unfinished. To be called before the first request and the first
   * session, whose number has to be higher than the one that is answered.
   */
  async recover(): Promise<number> {
    const { store, clock, ackTimeoutMs } = this.#options;
    let epoch = 0;
    for (const deployment of await store.listUnfinished()) {
      epoch = Math.max(epoch, connectionEpoch(deployment));
      const isUncertain = markUncertainOnStart(deployment, clock.now(), ackTimeoutMs) !== undefined;
      if (isUncertain)
        await this.#recorder.update(deployment.id, (current, now) => markUncertainOnStart(current, now, ackTimeoutMs));
      else this.#deadlines.watch(deployment);
    }
    return epoch;
  }

  /**
   * Records what is asked for and sends it to the device. Answers its id, or that of the earlier one where the same request
   * is repeated. Errors: `IdempotencyKeyReused`, `QuotaExceeded`, `TooManyRequests`.
   */
  async request(asset: Asset, command: AppCommand, idempotency?: Idempotency): Promise<string> {
    const { clock, logger, devices, deploymentTimeoutMs, maxAccountBytes } = this.#options;
    const { action, app, spec } = command;
    const { registry_auth: registryAuth, ...options } = command.options;
    const deployment = newDeployment({
      id: createId("dep_"),
      accountId: asset.accountId,
      assetUuid: asset.uuid,
      app,
      action,
      spec,
      options,
      hasRegistryAuth: registryAuth !== undefined,
      nowMs: clock.now(),
      timeoutMs: deploymentTimeoutMs,
    });
    const { id } = deployment;
    // Before it is on record: from then on a device that connects is sent it.
    if (registryAuth) this.#credentials.set(id, registryAuth);
    const result = await this.#recorder.create(deployment, firstEvent(deployment), idempotency, {
      maxAccountBytes: maxAccountBytes,
      maxRunningPerAsset: MAX_RUNNING_PER_ASSET,
    });
    if (result.kind !== "created") this.#credentials.drop(id);
    if (result.kind === "conflict") throw new EdgeError("IdempotencyKeyReused");
    if (result.kind === "quota_exceeded") throw this.#storageQuotaError(asset, result.usedBytes);
    if (result.kind === "too_many_running") throw tooManyRunningError();
    if (result.kind === "repeated") return result.id;
    const { image } = (spec ?? {}) as { image?: string };
    logger.info({ deployment_id: id, app, action, image, asset: asset.uuid }, "deployment received");
    const session = devices.find(asset.uuid);
    if (session) await this.#dispatcher.send(session, deployment);
    else await this.#recorder.update(id, failUndelivered);
    return id;
  }

  /** Asks for a deployment to be cancelled. Answers it as it is then; one that is finished stays as it is. */
  async cancel(id: string): Promise<Deployment | undefined> {
    const { devices } = this.#options;
    let change: DeploymentChange | undefined;
    const after = await this.#recorder.update(id, (current, now) => {
      // In doubt, it may have ended: that is for the device to say.
      const mustAskDevice = current.uncertainty !== undefined || devices.find(current.assetUuid) !== undefined;
      change = mustAskDevice ? requestCancel(current, now) : fail(current, now, "DeploymentCancelled");
      return change;
    });
    // Connected meanwhile, it was asked what it holds before this was on record.
    if (after && change && after.uncertainty === undefined) {
      devices.find(after.assetUuid)?.send({ type: "cancel", deployment_id: id, reason: "requested" });
    }
    return after;
  }

  /** Ends the deployments of an asset that is gone; its device, if it is still connected, is told to undo them. */
  async cancelAll(assetUuid: string): Promise<void> {
    for (const { id } of await this.#options.store.listUnfinished(assetUuid)) {
      const after = await this.#recorder.update(id, (current, now) => fail(current, now, "DeploymentCancelled"));
      if (after?.code !== "DeploymentCancelled" || after.uncertainty !== undefined) continue;
      this.#options.devices.find(assetUuid)?.send({ type: "cancel", deployment_id: id, reason: "requested" });
    }
  }

  /** Events above `after` until the final one, the signal or the server's end; an empty batch keeps the stream alive. */
  async *events(
    id: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredEvent[], void, undefined> {
    const { store, bus, clock } = this.#options;
    this.#streams.set(id, (this.#streams.get(id) ?? 0) + 1);
    try {
      const drain = this.#drain.signal;
      yield* readEvents(id, after, { store, bus, clock, idleMs: KEEP_ALIVE_MS, drain, signal });
    } finally {
      const left = (this.#streams.get(id) ?? 1) - 1;
      if (left > 0) this.#streams.set(id, left);
      else this.#streams.delete(id);
    }
  }

  /** Tells the open streams that they end and where they go on, and ends them. Unfinished deployments stay recorded. */
  async stop(): Promise<void> {
    this.#deadlines[Symbol.dispose]();
    for (const id of this.#streams.keys()) await this.#recorder.update(id, noteStreamInterrupted);
    this.#drain.abort();
  }

  #storageQuotaError({ accountId }: Asset, usedBytes: number): EdgeError {
    const { logger, maxAccountBytes, retentionMs } = this.#options;
    logger.warn(
      { account_id: accountId, used_bytes: usedBytes, limit_bytes: maxAccountBytes },
      "storage quota exceeded",
    );
    return new EdgeError("QuotaExceeded", "The account's deployments take as much room as they may.", {
      quota: "storage",
      used_bytes: usedBytes,
      limit_bytes: maxAccountBytes,
      kept_days: retentionMs / DAY_MS,
    });
  }

  async #expire(id: string, passed: ExpiredDeadline): Promise<Deployment | undefined> {
    let change: DeploymentChange | undefined;
    const after = await this.#recorder.update(id, (deployment, nowMs) => {
      change = expire(deployment, passed, nowMs);
      return change;
    });
    // In doubt, it may have ended well and be running.
    const reason = after && change && after.uncertainty === undefined ? cancelReason(after) : undefined;
    const session = after && this.#options.devices.find(after.assetUuid);
    if (session && reason) {
      session.send({ type: "cancel", deployment_id: id, reason });
      if (passed.kind === "acknowledge") session.checkLiveness();
    }
    return after;
  }
}

/** There was no connection to send it over. One that has come since may have been used for it. */
function failUndelivered(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  return deployment.acknowledgedAtMs === undefined ? fail(deployment, nowMs, "DeviceNotReachable") : undefined;
}

function tooManyRunningError(): EdgeError {
  return new EdgeError("TooManyRequests", "The device has as many deployments under way as it may have.", {
    limit: MAX_RUNNING_PER_ASSET,
  });
}

function firstEvent(deployment: Deployment) {
  const change = appendEvent(deployment, receivedEvent(deployment), deployment.createdAtMs);
  if (!change?.event) throw new Error("a new deployment takes its first event");
  return change.event;
}
