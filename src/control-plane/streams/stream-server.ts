import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../../lib/clock.ts";
import { ConcurrencyLimiter } from "../../lib/concurrency-limiter.ts";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError, errorEntry, type ResponseErrorCode } from "../../protocol/errors.ts";
import { CLOSE_CODES } from "../../protocol/frames.ts";
import { MAX_STREAM_APP_LENGTH } from "../../protocol/streams.ts";
import { type AccessWatcher, keySubject } from "../access-watcher.ts";
import { PERMISSIONS } from "../core/permission.ts";
import type { Asset } from "../core/asset.ts";
import type { StreamGateway } from "../gateway/stream-gateway.ts";
import { DeviceRateLimiters } from "../hub/device-rate-limiters.ts";
import type { SharedCounts } from "../instances/shared-counts.ts";
import { refuseUpgrade } from "../hub/refuse-upgrade.ts";
import { hashSecret } from "../secrets.ts";
import type { ApiKey } from "../store/accounts.ts";
import type { Store } from "../store/store.ts";
import { AuditTrail } from "./audit-trail.ts";
import { ClientConnection } from "./client-connection.ts";

/** Bounds of one account. */
export const MAX_STREAM_CONNECTIONS_PER_ACCOUNT = 16;
export const MAX_STREAMS_PER_ACCOUNT = 64;

/** A command with all its arguments, and JSON around it. Data messages are smaller. */
const MAX_CLIENT_FRAME_BYTES = 256 * 1024;

const PATH = /^\/v1\/assets\/([^/]+)\/edge\/apps\/([^/]+)\/stream$/;
const MAX_KEY_LENGTH = 128;
const RETRY_AFTER_S = 5;

export interface StreamServerOptions {
  readonly store: Store;
  readonly gateway: StreamGateway;
  readonly access: AccessWatcher;
  readonly ratePerMinute: number;
  /** What other instances count; absent if there can be none. */
  readonly counts?: SharedCounts | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Target {
  readonly key: ApiKey;
  readonly asset: Asset;
  readonly app: string;
}

/** Whether a request for a WebSocket is for streams to an app. */
export function isStreamRequest(request: IncomingMessage): boolean {
  return PATH.test(pathOf(request));
}

/** Serves clients' connections with streams to apps. */
export class StreamServer {
  readonly #options: StreamServerOptions;
  readonly #connections = new Set<ClientConnection>();
  readonly #sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_CLIENT_FRAME_BYTES,
    perMessageDeflate: false,
  });
  readonly #connectionSlots: ConcurrencyLimiter;
  readonly #streamSlots: ConcurrencyLimiter;
  readonly #rates: DeviceRateLimiters;
  #isStopping = false;

  constructor(options: StreamServerOptions) {
    this.#options = options;
    const { counts } = options;
    this.#connectionSlots = new ConcurrencyLimiter(
      MAX_STREAM_CONNECTIONS_PER_ACCOUNT,
      "The account has reached its limit of connections to apps.",
      counts?.of("app-connections"),
    );
    this.#streamSlots = new ConcurrencyLimiter(
      MAX_STREAMS_PER_ACCOUNT,
      "The account has reached its limit of streams to apps.",
      counts?.of("app-streams"),
    );
    this.#rates = new DeviceRateLimiters(options.clock, options.ratePerMinute, options.ratePerMinute / 60);
  }

  /** Takes over the socket of a request for streams. */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on("error", () => socket.destroy());
    this.#admit(request, socket, head).catch((error: unknown) => {
      if (error instanceof EdgeError) return refuse(socket, error);
      this.#options.logger.error({ err: error }, "cannot admit a client's streams");
      refuseUpgrade(socket, "ServiceUnavailable", "The service cannot answer right now.", RETRY_AFTER_S);
    });
  };

  /** Closes all connections. */
  stop(): void {
    this.#isStopping = true;
    for (const connection of this.#connections) connection.close(CLOSE_CODES.restart, "edge-control is restarting");
  }

  async #admit(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    if (this.#isStopping) throw new EdgeError("ServiceUnavailable", "The service is stopping.");
    const target = await this.#resolve(request);
    if (socket.destroyed) return;
    using slot = new DisposableStack();
    slot.use(this.#connectionSlots.acquire(target.key.accountId));
    const held = slot.move();
    socket.once("close", () => held.dispose());
    const source = request.socket.remoteAddress;
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => this.#accept(webSocket, target, source));
  }

  /** Errors: `Unauthorized`, `TooManyRequests`, `Forbidden`, `AssetNotFound`, `AppNotFound`. */
  async #resolve(request: IncomingMessage): Promise<Target> {
    const { store } = this.#options;
    const secret = request.headers["x-api-key"];
    const found =
      typeof secret === "string" && secret.length <= MAX_KEY_LENGTH
        ? await store.keys.findKeyByHash(hashSecret(secret))
        : undefined;
    const key = found?.key;
    if (!key || key.revokedAt !== undefined) throw new EdgeError("Unauthorized");
    if (this.#rates.forDevice(key.id).charge(1) > 0) throw new EdgeError("TooManyRequests");
    const mayStream = PERMISSIONS.some((permission) => key.permissions.includes(permission));
    const [, identifier = "", encodedApp = ""] = PATH.exec(pathOf(request)) ?? [];
    const asset = await store.assets.findAsset(key.accountId, decode(identifier));
    const target = asset && { key, asset, app: decode(encodedApp) };
    if (!mayStream) {
      if (target) this.#trailOf(target, request.socket.remoteAddress).refuse(undefined, undefined, "Forbidden");
      throw new EdgeError("Forbidden", `The API key has neither of the permissions ${PERMISSIONS.join(" and ")}.`, {
        permission: PERMISSIONS[0],
      });
    }
    if (!target) throw new EdgeError("AssetNotFound");
    if (target.app.length > MAX_STREAM_APP_LENGTH) throw new EdgeError("AppNotFound");
    return target;
  }

  #trailOf({ key, asset, app }: Target, source: string | undefined): AuditTrail {
    const { store, clock, logger } = this.#options;
    const who = { audit: store.audit, accountId: key.accountId, keyId: key.id, source };
    return new AuditTrail({ ...who, clock, logger, assetUuid: asset.uuid, app });
  }

  #accept(socket: WebSocket, target: Target, source: string | undefined): void {
    const { store, gateway, access, clock, logger } = this.#options;
    const { key, asset, app } = target;
    const { accountId } = key;
    const assetUuid = asset.uuid;
    const trail = this.#trailOf(target, source);
    const rate = this.#rates.forDevice(key.id);
    const about = { key_id: key.id, asset: assetUuid, app };
    const connection = new ClientConnection({
      socket,
      gateway,
      assetUuid,
      app,
      key,
      trail,
      clock,
      chargeOpening: () => {
        if (rate.charge(1) > 0) throw new EdgeError("TooManyRequests", "Streams are opened too fast with this key.");
      },
      acquireStream: () => this.#streamSlots.acquire(accountId),
      onUnread: ({ bufferedBytes, bufferedMessages }) => {
        const waiting = { buffered_bytes: bufferedBytes, buffered_messages: bufferedMessages };
        logger.warn({ ...about, ...waiting }, "a client does not read what its streams bring; connection cut");
      },
    });
    this.#connections.add(connection);
    const watching = access.watch(
      keySubject(key.id),
      async () => (await store.keys.findKey(key.id))?.revokedAt === undefined,
      () => connection.close(CLOSE_CODES.unauthorized, "the API key was revoked"),
    );
    socket.on("close", () => {
      watching[Symbol.dispose]();
      this.#connections.delete(connection);
    });
    // The key may have been revoked after it was read, and before it was watched.
    access.recheck(keySubject(key.id)).catch((error: unknown) => {
      logger.error({ err: error, ...about }, "cannot check whether the API key was revoked");
      connection.close(CLOSE_CODES.internal, "internal error");
    });
    logger.info(about, "client connected for streams to an app");
  }
}

function refuse(socket: Duplex, error: EdgeError): void {
  // All codes thrown above have an HTTP status.
  const code = error.code as ResponseErrorCode;
  refuseUpgrade(socket, code, error.message, errorEntry(code).retryable ? RETRY_AFTER_S : undefined, error.details);
}

function pathOf(request: IncomingMessage): string {
  return request.url?.split("?")[0] ?? "";
}

/** An identifier that is not encoded correctly names no asset and no app. */
function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return "";
  }
}
