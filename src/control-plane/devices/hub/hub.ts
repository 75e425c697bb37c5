import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { type Clock, unixNow } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { CLOSE_CODES } from "../../../protocol/link/frames.ts";
import { MAX_FRAME_BYTES } from "../../../protocol/limits.ts";
import type { ProtocolVersions } from "../../../protocol/version.ts";
import { type AccessWatcher, deviceSubject } from "../../accounts/access-watcher.ts";
import type { Bus } from "../../bus/bus.ts";
import { disconnectReasonOf } from "../../core/connectivity.ts";
import type { Asset } from "../../core/asset.ts";
import type { DeviceSession } from "../session.ts";
import type { IsTrusted } from "../../config/trusted-proxies.ts";
import type { Store } from "../../store/store.ts";
import type { Observer } from "../../metrics/observer.ts";
import { closeReplaced, SessionComparison } from "./session-comparison.ts";
import { logStoreError, repeatWhileUnavailable, STORE_RETRY_AFTER_S } from "../../store/unavailable.ts";
import { BootGate } from "./boot-gate.ts";
import { DeviceAdmission } from "./device-admission.ts";
import { FrameRateLimiter } from "./frame-rate-limiter.ts";
import { MAX_CONNECTIONS_PER_ASSET, ConnectionRegistry } from "./connection-registry.ts";
import { refuseUpgrade } from "./refuse-upgrade.ts";
import { HubSession } from "./session.ts";
import type { CurrentSession, Hello, SessionHandlers, SessionHost } from "./session-host.ts";

const AGENT_PATH = "/v1/agent";
const RETRY_AFTER_S = STORE_RETRY_AFTER_S;
/** How often it is tried, while the store is unavailable, to read what a device has to hear before it is disconnected. */
const MAX_FAREWELL_ATTEMPTS = 5;
/** Time for devices to close their connections when the server stops, in milliseconds. */
const CLOSE_GRACE_MS = 1_000;
/** Sessions that are taken up again in one piece. */
const MAX_REOPENED_AT_ONCE = 200;
/** Pace at which devices are sent to other instances, and the longest time that takes. */
const MAX_SENT_AWAY_PER_S = 500;
const MAX_SENDING_AWAY_MS = 30_000;
const SENDING_AWAY_PAUSE_MS = 20;
/** Longer than any agent is silent, so that only dead connections cause traffic. */
const TCP_KEEPALIVE_MS = 70 * 60_000;

export interface HubOptions {
  /** Shared if other instances use it. */
  readonly store: Pick<Store, "assets" | "sessions" | "isShared">;
  readonly bus: Bus;
  /** The instance of the service, which holds the sessions. */
  readonly instanceId: string;
  /** Returns the devices that have unfinished deployments. */
  readonly listBusyAssets: () => Promise<ReadonlySet<string>>;
  readonly access: AccessWatcher;
  readonly isTrustedProxy: IsTrusted;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observer?: Observer | undefined;
  /** Default: those of this program. */
  readonly protocols?: ProtocolVersions | undefined;
}

/** The connections of all devices, with at most one current session per device, the newest. */
export class DeviceHub {
  readonly #options: HubOptions;
  readonly #sessions = new Map<string, HubSession>();
  readonly #connections = new ConnectionRegistry<HubSession>();
  readonly #sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
  });
  /** Resolves, for each device, when the frames of its earlier sessions are handled. */
  readonly #closing = new Map<string, Promise<void>>();
  readonly #bootGate: BootGate;
  readonly #frameRateLimiter: FrameRateLimiter;
  readonly #admission: DeviceAdmission;
  readonly #comparison: Disposable;
  readonly #wakes: Disposable;
  #host: SessionHost | undefined;
  /** Sessions whose end is being stored. */
  readonly #ending = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  /** Called when the last connection is closed, while the hub stops. */
  #onAllClosed: (() => void) | undefined;
  /** Devices are sent to other instances, and their sessions stay on record until they are there. */
  #isSendingAway = false;

  constructor(options: HubOptions) {
    this.#options = options;
    this.#frameRateLimiter = new FrameRateLimiter(options.clock);
    this.#admission = new DeviceAdmission(options);
    this.#bootGate = new BootGate(options);
    const { bus, instanceId } = options;
    this.#wakes = bus.subscribeWakes(instanceId, (assetUuid) => {
      if (assetUuid !== undefined) this.#sessions.get(assetUuid)?.deliver();
    });
    this.#comparison = new SessionComparison({
      ...options,
      current: () => [...this.#sessions.values()],
      reopen: (lost) => this.reopenSessions(lost),
    });
  }

  /** Sets the receivers of frames. Must be called before the first connection. */
  setHandlers(handlers: SessionHandlers): void {
    const { clock, logger, observer, protocols } = this.#options;
    this.#host = {
      clock,
      logger,
      observer,
      protocols,
      frameRateLimiter: this.#frameRateLimiter,
      handlers,
      current: {
        becomeCurrent: (greeted, hello) => this.#becomeCurrent(greeted, hello, handlers),
        onClosed: (closed) => this.#onSessionClosed(closed, handlers),
        isCurrent: (session) => this.#sessions.get(session.assetUuid) === session,
        onStale: (stale) => this.#closeStale(stale, handlers),
      },
    };
  }

  /** Number of devices that are connected. */
  get deviceCount(): number {
    return this.#sessions.size;
  }

  /** Returns the device's current session, if it has one here. */
  find(assetUuid: string): DeviceSession | undefined {
    return this.#sessions.get(assetUuid);
  }

  /** Listener for the server's event `upgrade`. Takes over the socket. */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on("error", () => socket.destroy());
    this.#admit(request, socket, head).catch((error: unknown) => {
      logStoreError(this.#options.logger, error, {}, "cannot admit a device");
      refuseUpgrade(socket, "ServiceUnavailable", "The service cannot answer right now.", RETRY_AFTER_S);
    });
  };

  /** Sends goodbye to all devices. Resolves when their connections are closed, and that is stored. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#comparison[Symbol.dispose]();
    const closed = this.#allClosed();
    for (const session of this.#connections) {
      // Random, so that a fleet does not reconnect all at once.
      const retryAfterS = 1 + Math.random() * RETRY_AFTER_S;
      session.send({ type: "goodbye", reason: "edge-control is restarting", retry_after_s: retryAfterS });
      session.close(CLOSE_CODES.restart, "edge-control is restarting");
    }
    using _grace = this.#options.clock.timer(CLOSE_GRACE_MS, () => {
      for (const session of this.#connections) session.terminate();
    });
    await closed;
    await Promise.all(this.#ending);
    this.#wakes[Symbol.dispose]();
  }

  /**
   * Sends the devices to other instances, spread over a time, and takes no more. Those that are on their way count as connected:
   * what is requested meanwhile waits for them in the store.
   */
  async sendAway(): Promise<void> {
    this.#isSendingAway = true;
    const sessions = [...this.#connections];
    const inTime = Math.ceil((sessions.length * SENDING_AWAY_PAUSE_MS) / MAX_SENDING_AWAY_MS);
    const atOnce = Math.max(inTime, (MAX_SENT_AWAY_PER_S * SENDING_AWAY_PAUSE_MS) / 1000);
    for (let from = 0; from < sessions.length; from += atOnce) {
      if (from > 0) await this.#options.clock.sleep(SENDING_AWAY_PAUSE_MS);
      for (const session of sessions.slice(from, from + atOnce)) sendAway(session);
    }
  }

  /** Sends all devices to other instances: this one has not reached the store for long, and others have taken over. */
  abandon(): void {
    for (const session of this.#connections) sendAway(session);
  }

  /**
   * Takes up again the sessions that this instance still has, after others may have ended them: those that no later one has
   * replaced. Devices that have unfinished deployments connect again, so that what they hold is compared with the record.
   */
  async reopenSessions(sessions: readonly HubSession[] = [...this.#sessions.values()]): Promise<void> {
    const { store, instanceId, listBusyAssets } = this.#options;
    const busyAssets = await listBusyAssets();
    for (let from = 0; from < sessions.length; from += MAX_REOPENED_AT_ONCE) {
      const piece = sessions.slice(from, from + MAX_REOPENED_AT_ONCE);
      const fences = piece.map(({ assetUuid, epoch }) => ({ assetUuid, epoch }));
      const reopened = await store.sessions.reopen(instanceId, fences);
      const epochs = new Map(reopened.map(({ assetUuid, epoch }) => [assetUuid, epoch]));
      for (const session of piece) {
        // A later session of the device may have come here meanwhile.
        if (this.#sessions.get(session.assetUuid) !== session) continue;
        const epoch = epochs.get(session.assetUuid);
        if (epoch === undefined) closeReplaced(session);
        else session.epoch = epoch;
        if (epoch !== undefined && busyAssets.has(session.assetUuid)) sendAway(session);
      }
    }
  }

  #allClosed(): Promise<void> {
    if (this.#connections.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onAllClosed = resolve;
    });
  }

  async #admit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    if (request.url?.split("?")[0] !== AGENT_PATH) {
      return refuseUpgrade(socket, "NotFound", `Agents connect to ${AGENT_PATH}.`);
    }
    if (this.#stopping.signal.aborted || this.#isSendingAway) {
      return refuseUpgrade(socket, "ServiceUnavailable", "The service is stopping.", RETRY_AFTER_S);
    }
    const admitted = await this.#admission.admit(request);
    if ("refusal" in admitted) {
      const { code, message } = admitted.refusal;
      return refuseUpgrade(socket, code, message, code === "TooManyRequests" ? RETRY_AFTER_S : undefined);
    }
    const { device, tokenHash } = admitted;
    const retryAfterS = await this.#bootGate.admit(device, tokenHash, request);
    if (retryAfterS !== undefined)
      return refuseUpgrade(socket, "DeviceCloned", "Another device is connected with this token.", retryAfterS);
    if (socket.destroyed) return;
    request.socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => this.#accept(webSocket, device.asset, tokenHash));
  }

  #accept(socket: WebSocket, asset: Asset, tokenHash: Uint8Array): void {
    const { access } = this.#options;
    const host = this.#host;
    if (!host || this.#stopping.signal.aborted || this.#isSendingAway) return socket.close(CLOSE_CODES.restart);
    const session = new HubSession({ id: randomUUID(), socket, asset }, host);
    const surplus = this.#connections.add(session);
    session.watching = access.watch(deviceSubject(asset.uuid), this.#tokenCheck(tokenHash), () => {
      void this.#closeRevoked(session, host.handlers);
    });
    if (!surplus) return;
    this.#options.observer?.bounded("connections_per_device");
    session.log(
      "warn",
      { cut: surplus.id, most: MAX_CONNECTIONS_PER_ASSET },
      "too many open connections of one device; the oldest is cut",
    );
    surplus.terminate();
  }

  /** Returns the check whether the token still counts. A text takes a fifth of the memory of an array of bytes. */
  #tokenCheck(tokenHash: Uint8Array): () => Promise<boolean> {
    const { assets } = this.#options.store;
    const text = Buffer.from(tokenHash).toString("latin1");
    return async () => (await assets.findAssetByDeviceToken(Buffer.from(text, "latin1"))) !== undefined;
  }

  /**
   * Stores the session, so that it counts everywhere. Of two connections of a device that arrive together, the one that is
   * stored later stays.
   */
  async #becomeCurrent(
    session: HubSession,
    { protocol, agent_version: agentVersion }: Pick<Hello, "protocol" | "agent_version">,
    handlers: SessionHandlers,
  ): Promise<CurrentSession | undefined> {
    const { store, instanceId, bus, clock } = this.#options;
    const { id: sessionId, assetUuid } = session;
    const at = unixNow(clock);
    const opened = await store.sessions.open({ assetUuid, sessionId, instanceId, protocol, agentVersion, at });
    if (!opened) {
      session.close(CLOSE_CODES.unauthorized, "the asset was removed");
      return undefined;
    }
    session.epoch = opened.epoch;
    const other = this.#sessions.get(assetUuid);
    if (other && other.epoch > opened.epoch) {
      closeReplaced(session);
      return undefined;
    }
    this.#sessions.set(assetUuid, session);
    if (other) {
      closeReplaced(other);
      this.#trackClosing(other);
    }
    const { replacedInstanceId } = opened;
    if (replacedInstanceId !== undefined && replacedInstanceId !== instanceId) {
      bus.publish(`session.${replacedInstanceId}`);
    }
    // Closed while it was being stored.
    if (!session.isOpen) {
      this.#endCurrent(session, handlers);
      return undefined;
    }
    // Read now: once a later session has replaced this one, it would wait for itself.
    const { reportHash, healthAt, hasOpenDeployments: mustReconcile } = opened;
    return { earlierSessionsIdle: this.#closing.get(assetUuid), reportHash, healthAt, mustReconcile };
  }

  /** Tells the device first what it must undo: it cannot connect again to hear of it. */
  async #closeRevoked(session: HubSession, { delivery }: SessionHandlers): Promise<void> {
    try {
      await this.#repeat(async () => {
        if (session.isCurrent) await delivery.deliverCancellations(session);
      }, MAX_FAREWELL_ATTEMPTS);
    } catch (error) {
      const { logger } = this.#options;
      logStoreError(logger, error, { asset: session.assetUuid }, "cannot read what a device must undo");
    } finally {
      session.close(CLOSE_CODES.unauthorized, "the device token was revoked");
    }
  }

  /** The session is over in the store. If the asset was removed, its session is closed for that reason. */
  async #closeStale(session: HubSession, handlers: SessionHandlers): Promise<void> {
    try {
      const { sessions } = this.#options.store;
      const stored = await this.#repeat(() => sessions.find(session.assetUuid), MAX_FAREWELL_ATTEMPTS);
      if (!stored) return await this.#closeRevoked(session, handlers);
    } catch (error) {
      const { logger } = this.#options;
      logStoreError(logger, error, { asset: session.assetUuid }, "cannot read what has replaced a session");
    }
    closeReplaced(session);
  }

  #trackClosing(session: HubSession): void {
    const { assetUuid } = session;
    const before = this.#closing.get(assetUuid);
    const waitUntilIdle = async (): Promise<void> => {
      await Promise.all([before, session.whenIdle()]);
      if (this.#closing.get(assetUuid) === idle) this.#closing.delete(assetUuid);
    };
    const idle = waitUntilIdle();
    this.#closing.set(assetUuid, idle);
  }

  #onSessionClosed(session: HubSession, handlers: SessionHandlers): void {
    session.watching?.[Symbol.dispose]();
    this.#connections.delete(session);
    if (this.#connections.size === 0) this.#onAllClosed?.();
    if (this.#sessions.get(session.assetUuid) === session) this.#endCurrent(session, handlers);
  }

  #endCurrent(session: HubSession, { deploymentHandler }: SessionHandlers): void {
    const { store, clock, logger } = this.#options;
    this.#sessions.delete(session.assetUuid);
    this.#trackClosing(session);
    if (this.#isSendingAway) return;
    const closedAt = unixNow(clock);
    const reason = disconnectReasonOf(session.closeCode);
    const ending = this.#repeat(() => store.sessions.close(session, closedAt, reason)).catch((error: unknown) => {
      // The next session of the device replaces it.
      logStoreError(logger, error, { asset: session.assetUuid }, "cannot record that a device is not connected");
    });
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
    if (this.#stopping.signal.aborted) return;
    this.#notifyDisconnected(session, deploymentHandler).catch((error: unknown) => {
      logStoreError(logger, error, { asset: session.assetUuid }, "cannot record that a device is offline");
    });
  }

  /** Handles the session's last frames first. */
  async #notifyDisconnected(session: HubSession, handler: SessionHandlers["deploymentHandler"]): Promise<void> {
    await session.whenIdle();
    await this.#repeat(async () => {
      const isOver = !this.#stopping.signal.aborted && !this.#sessions.has(session.assetUuid);
      if (isOver) await handler.onDisconnected(session);
    });
  }

  /** While the store is unavailable, until the hub stops. */
  #repeat<T>(work: () => Promise<T>, maxAttempts = Infinity): Promise<T> {
    const { clock } = this.#options;
    return repeatWhileUnavailable(work, { clock, signal: this.#stopping.signal, maxAttempts });
  }
}

function sendAway(session: HubSession): void {
  session.send({
    type: "goodbye",
    reason: "this instance of edge-control does not serve any longer",
    retry_after_s: 1,
  });
  session.close(CLOSE_CODES.restart, "edge-control is restarting");
}
