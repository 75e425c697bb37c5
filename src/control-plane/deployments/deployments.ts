import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors.ts";
import type { Bus } from "../bus/bus.ts";
import type { Asset } from "../core/asset.ts";
import type { AppCommand } from "../core/command.ts";
import { streamInterrupted } from "../core/connection-remarks.ts";
import { expire } from "../core/deadlines.ts";
import { type Change, type Deployment, newDeployment } from "../core/deployment.ts";
import { takeUp } from "../core/doubt.ts";
import { appendEvent } from "../core/event-log.ts";
import { cancelReason } from "../core/reconcile.ts";
import { fail, received, requestCancel } from "../core/transitions.ts";
import { createId } from "../secrets.ts";
import type { DeploymentStore, Idempotency, StoredEvent } from "../store/deployments.ts";
import { Credentials } from "./credentials.ts";
import { Deadlines, type ExpiredDeadline } from "./deadlines.ts";
import { DeploymentDeviceHandler } from "./device-handler.ts";
import type { DeviceDirectory, DeviceHandler } from "./devices.ts";
import { Dispatcher } from "./dispatcher.ts";
import { readEvents } from "./event-reader.ts";
import { Inquiries } from "./inquiries.ts";
import { Recorder } from "./recorder.ts";

/** How long a stream may be silent before something has to be sent to keep it alive, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

const DAY_MS = 24 * 3_600_000;

/** Most deployments of one device that may be under way at once. */
export const MAX_RUNNING_PER_ASSET = 100;

export interface DeploymentsParts {
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
  readonly keepMs: number;
}

/** The deployments of all devices: asked for by clients, carried out by devices, ended by whatever comes first. */
export class Deployments {
  /** What the devices' side talks to. */
  readonly deviceHandler: DeviceHandler;
  readonly #parts: DeploymentsParts;
  readonly #deadlines: Deadlines;
  readonly #credentials = new Credentials();
  readonly #recorder: Recorder;
  readonly #dispatcher: Dispatcher;
  readonly #drain = new AbortController();
  /** How many streams are open of each deployment. */
  readonly #streams = new Map<string, number>();

  constructor(parts: DeploymentsParts) {
    const { store, bus, clock, logger, devices, ackTimeoutMs, maxAccountBytes } = parts;
    this.#parts = parts;
    this.#deadlines = new Deadlines({
      clock,
      logger,
      ackTimeoutMs,
      onExpired: (id, passed) => this.#expire(id, passed),
    });
    const credentials = this.#credentials;
    this.#recorder = new Recorder({ store, bus, clock, logger, deadlines: this.#deadlines, credentials });
    this.#dispatcher = new Dispatcher(this.#recorder, credentials);
    const shared = { store, clock, logger, devices, recorder: this.#recorder, dispatcher: this.#dispatcher };
    this.deviceHandler = new DeploymentDeviceHandler({
      store,
      recorder: this.#recorder,
      inquiries: new Inquiries(shared),
      maxAccountBytes,
    });
  }

  /**
   * Takes up the deployments an earlier process left unfinished. To be called before the first request and the first
   * session, whose number has to be higher than the one that is answered.
   */
  async recover(): Promise<number> {
    const { store, clock, ackTimeoutMs } = this.#parts;
    let epoch = 0;
    for (const deployment of await store.listUnfinished()) {
      epoch = Math.max(epoch, Math.floor(deployment.connection / 2));
      const isDoubtful = takeUp(deployment, clock.now(), ackTimeoutMs) !== undefined;
      if (isDoubtful) await this.#recorder.change(deployment.id, (current, now) => takeUp(current, now, ackTimeoutMs));
      else this.#deadlines.watch(deployment);
    }
    return epoch;
  }

  /**
   * Records what is asked for and sends it to the device. Answers its id, or that of the earlier one where the same request
   * is repeated. Errors: `IdempotencyKeyReused`, `QuotaExceeded`, `TooManyRequests`.
   */
  async request(asset: Asset, command: AppCommand, idempotency?: Idempotency): Promise<string> {
    const { clock, logger, devices, deploymentTimeoutMs, maxAccountBytes } = this.#parts;
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
    if (registryAuth) this.#credentials.keep(id, registryAuth);
    const result = await this.#recorder.create(deployment, firstEvent(deployment), idempotency, {
      accountBytes: maxAccountBytes,
      runningOfAsset: MAX_RUNNING_PER_ASSET,
    });
    if (result.kind !== "created") this.#credentials.drop(id);
    if (result.kind === "conflict") throw new EdgeError("IdempotencyKeyReused");
    if (result.kind === "full") throw this.#storageFull(asset, result.usedBytes);
    if (result.kind === "busy") throw tooManyRunning();
    if (result.kind === "repeated") return result.id;
    const { image } = (spec ?? {}) as { image?: string };
    logger.info({ deployment_id: id, app, action, image, asset: asset.uuid }, "deployment received");
    const session = devices.find(asset.uuid);
    if (session) await this.#dispatcher.send(session, deployment);
    else await this.#recorder.change(id, failUndelivered);
    return id;
  }

  /** Asks for a deployment to be cancelled. Answers it as it is then; one that is finished stays as it is. */
  async cancel(id: string): Promise<Deployment | undefined> {
    const { devices } = this.#parts;
    let change: Change | undefined;
    const after = await this.#recorder.change(id, (current, now) => {
      // In doubt, it may have ended: that is for the device to say.
      const isAnswerable = current.doubt !== undefined || devices.find(current.assetUuid) !== undefined;
      change = isAnswerable ? requestCancel(current, now) : fail(current, now, "DeploymentCancelled");
      return change;
    });
    // Connected meanwhile, it was asked what it holds before this was on record.
    if (after && change && after.doubt === undefined) {
      devices.find(after.assetUuid)?.send({ type: "cancel", deployment_id: id, reason: "requested" });
    }
    return after;
  }

  /** Ends the deployments of an asset that is gone; its device, if it is still connected, is told to undo them. */
  async abandon(assetUuid: string): Promise<void> {
    for (const { id } of await this.#parts.store.listUnfinished(assetUuid)) {
      const after = await this.#recorder.change(id, (current, now) => fail(current, now, "DeploymentCancelled"));
      if (after?.code !== "DeploymentCancelled" || after.doubt !== undefined) continue;
      this.#parts.devices.find(assetUuid)?.send({ type: "cancel", deployment_id: id, reason: "requested" });
    }
  }

  /** Events above `after` until the final one, the signal or the server's end; an empty batch keeps the stream alive. */
  async *events(
    id: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredEvent[], void, undefined> {
    const { store, bus, clock } = this.#parts;
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
    for (const id of this.#streams.keys()) await this.#recorder.change(id, streamInterrupted);
    this.#drain.abort();
  }

  #storageFull({ accountId }: Asset, usedBytes: number): EdgeError {
    const { logger, maxAccountBytes, keepMs } = this.#parts;
    logger.warn(
      { account_id: accountId, used_bytes: usedBytes, limit_bytes: maxAccountBytes },
      "storage quota exceeded",
    );
    return new EdgeError("QuotaExceeded", "The account's deployments take as much room as they may.", {
      quota: "storage",
      used_bytes: usedBytes,
      limit_bytes: maxAccountBytes,
      kept_days: keepMs / DAY_MS,
    });
  }

  async #expire(id: string, passed: ExpiredDeadline): Promise<Deployment | undefined> {
    let change: Change | undefined;
    const after = await this.#recorder.change(id, (deployment, nowMs) => {
      change = expire(deployment, passed, nowMs);
      return change;
    });
    // In doubt, it may have ended well and be running.
    const reason = after && change && after.doubt === undefined ? cancelReason(after) : undefined;
    const session = after && this.#parts.devices.find(after.assetUuid);
    if (session && reason) {
      session.send({ type: "cancel", deployment_id: id, reason });
      if (passed.kind === "acknowledge") session.probe();
    }
    return after;
  }
}

/** There was no connection to send it over. One that has come since may have been used for it. */
function failUndelivered(deployment: Deployment, nowMs: number): Change | undefined {
  return deployment.acknowledgedAtMs === undefined ? fail(deployment, nowMs, "DeviceNotReachable") : undefined;
}

function tooManyRunning(): EdgeError {
  return new EdgeError("TooManyRequests", "The device has as many deployments under way as it may have.", {
    limit: MAX_RUNNING_PER_ASSET,
  });
}

function firstEvent(deployment: Deployment) {
  const change = appendEvent(deployment, received(deployment), deployment.createdAtMs);
  if (!change?.event) throw new Error("a new deployment takes its first event");
  return change.event;
}
