import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Clock } from "../../../lib/clock.ts";
import { ConcurrencyLimiter } from "../../../lib/concurrency-limiter.ts";
import { KeyedRateLimiters } from "../../../lib/keyed-rate-limiters.ts";
import type { Logger } from "../../../lib/logger.ts";
import { EdgeError, errorEntry, type ResponseErrorCode } from "../../../protocol/errors/errors.ts";
import { CLOSE_CODES } from "../../../protocol/link/frames.ts";
import { MAX_STREAM_APP_LENGTH } from "../../../protocol/link/streams.ts";
import type { AccessWatcher } from "../../accounts/access-watcher.ts";
import { PERMISSIONS } from "../../core/permission.ts";
import type { Asset } from "../../core/asset.ts";
import type { StreamGateway } from "../gateway/device-gateway.ts";
import type { Observer } from "../../metrics/observer.ts";
import type { SharedCounts } from "../../instances/shared-counts.ts";
import { refuseUpgrade } from "../hub/refuse-upgrade.ts";
import { apiKeyOf } from "../../core/people/credentials.ts";
import type { PrincipalReader } from "../../accounts/principal-reader.ts";
import type { KeyPrincipal } from "../../accounts/principal.ts";
import { watchPrincipal } from "../../accounts/watch-principal.ts";
import { clientAddress, type IsTrusted } from "../../config/trusted-proxies.ts";
import type { Store } from "../../store/store.ts";
import { logStoreError, STORE_RETRY_AFTER_S, StoreUnavailableError } from "../../store/unavailable.ts";
import { AuditTrail } from "./audit-trail.ts";
import { ClientConnection } from "./client-connection.ts";

/** Bounds of one account. */
export const MAX_STREAM_CONNECTIONS_PER_ACCOUNT = 16;
export const MAX_STREAMS_PER_ACCOUNT = 64;

/** A command with all its arguments, and JSON around it. Data messages are smaller. */
const MAX_CLIENT_FRAME_BYTES = 256 * 1024;

const PATH = /^\/v1\/assets\/([^/]+)\/edge\/apps\/([^/]+)\/stream$/;
const RETRY_AFTER_S = STORE_RETRY_AFTER_S;

/** What clients may have, and who counts it. */
export interface ClientLimits {
  /** Requests with one key. */
  readonly ratePerMinute: number;
  /** What other instances count; absent if there can be none. */
  readonly counts?: SharedCounts | undefined;
  readonly observer?: Pick<Observer, "bounded"> | undefined;
}

export interface StreamServerOptions {
  readonly store: Store;
  readonly gateway: StreamGateway;
  readonly access: AccessWatcher;
  readonly principals: PrincipalReader;
  readonly isTrustedProxy: IsTrusted;
  readonly limits: ClientLimits;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface StreamTarget {
  readonly principal: KeyPrincipal;
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
  readonly #rates: KeyedRateLimiters;
  #isStopping = false;

  constructor(options: StreamServerOptions) {
    this.#options = options;
    const { ratePerMinute, counts, observer } = options.limits;
    this.#connectionSlots = new ConcurrencyLimiter(
      MAX_STREAM_CONNECTIONS_PER_ACCOUNT,
      "The account has reached its limit of connections to apps.",
      counts?.of("app-connections"),
      () => observer?.bounded("app_connections_per_account"),
    );
    this.#streamSlots = new ConcurrencyLimiter(
      MAX_STREAMS_PER_ACCOUNT,
      "The account has reached its limit of streams to apps.",
      counts?.of("app-streams"),
      () => observer?.bounded("app_streams_per_account"),
    );
    this.#rates = new KeyedRateLimiters(options.clock, ratePerMinute, ratePerMinute / 60);
  }

  /** Takes over the socket of a request for streams. */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on("error", () => socket.destroy());
    this.#admit(request, socket, head).catch((error: unknown) => {
      if (error instanceof EdgeError) return refuse(socket, error);
      logStoreError(this.#options.logger, error, {}, "cannot admit a client's streams");
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
    slot.use(this.#connectionSlots.acquire(target.principal.accountId));
    const held = slot.move();
    socket.once("close", () => held.dispose());
    const source = clientAddress(request, this.#options.isTrustedProxy);
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => this.#accept(webSocket, target, source));
  }

  /** Errors: `Unauthorized`, `TooManyRequests`, `Forbidden`, `AssetNotFound`, `AppNotFound`. */
  async #resolve(request: IncomingMessage): Promise<StreamTarget> {
    const { store, principals, isTrustedProxy } = this.#options;
    // Keys only. A session's cookie would come along with what any page opens, and the console opens none of these.
    const principal = await principals.ofKey(apiKeyOf(request.headers));
    if (!principal) throw new EdgeError("Unauthorized");
    const { key } = principal;
    if (this.#rates.of(key.id).charge(1) > 0) {
      this.#options.limits.observer?.bounded("requests_per_key");
      throw new EdgeError("TooManyRequests");
    }
    const mayStream = PERMISSIONS.some((permission) => key.permissions.includes(permission));
    const [, identifier = "", encodedApp = ""] = PATH.exec(pathOf(request)) ?? [];
    const asset = await store.assets.findAsset(key.accountId, decode(identifier));
    const target = asset && { principal, asset, app: decode(encodedApp) };
    if (!mayStream) {
      if (target) {
        this.#trailOf(target, clientAddress(request, isTrustedProxy)).refuse(undefined, undefined, "Forbidden");
      }
      throw new EdgeError("Forbidden", `The API key has neither of the permissions ${PERMISSIONS.join(" and ")}.`, {
        permission: PERMISSIONS[0],
      });
    }
    if (!target) throw new EdgeError("AssetNotFound");
    if (target.app.length > MAX_STREAM_APP_LENGTH) throw new EdgeError("AppNotFound");
    return target;
  }

  #trailOf({ principal, asset, app }: StreamTarget, source: string | undefined): AuditTrail {
    const { store, clock, logger } = this.#options;
    const who = { audit: store.audit, accountId: principal.accountId, keyId: principal.id, source };
    return new AuditTrail({ ...who, clock, logger, assetUuid: asset.uuid, app });
  }

  #accept(socket: WebSocket, target: StreamTarget, source: string | undefined): void {
    const { gateway, clock, logger, limits } = this.#options;
    const { principal, asset, app } = target;
    const { key, accountId } = principal;
    const assetUuid = asset.uuid;
    const trail = this.#trailOf(target, source);
    const rate = this.#rates.of(key.id);
    const about = { key_id: key.id, asset: assetUuid, app };
    const connection = new ClientConnection({
      socket,
      gateway,
      assetUuid,
      app,
      key,
      trail,
      clock,
      limits: {
        chargeOpening: () => {
          if (rate.charge(1) > 0) throw new EdgeError("TooManyRequests", "Streams are opened too fast with this key.");
        },
        acquireStream: () => this.#streamSlots.acquire(accountId),
        onUnread: ({ bufferedBytes, bufferedMessages }) => {
          limits.observer?.bounded("app_connection_not_read");
          const waiting = { buffered_bytes: bufferedBytes, buffered_messages: bufferedMessages };
          logger.warn({ ...about, ...waiting }, "a client does not read what its streams bring; connection cut");
        },
      },
    });
    this.#connections.add(connection);
    const watching = watchPrincipal(
      this.#options,
      principal,
      () => connection.close(CLOSE_CODES.unauthorized, "the API key was revoked or has expired"),
      (error) => {
        logStoreError(logger, error, about, "cannot check whether the API key was revoked");
        if (error instanceof StoreUnavailableError)
          connection.close(CLOSE_CODES.restart, "the service cannot answer right now");
        else connection.close(CLOSE_CODES.internal, "internal error");
      },
    );
    socket.on("close", () => {
      watching[Symbol.dispose]();
      this.#connections.delete(connection);
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
