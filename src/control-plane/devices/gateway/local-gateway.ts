import { ConcurrencyLimiter } from "../../../lib/concurrency-limiter.ts";
import type { RegistryAuth } from "../../../protocol/apps/deploy-request.ts";
import type { QueryKind } from "../../../protocol/link/device-query.ts";
import { EdgeError, type ErrorCode } from "../../../protocol/errors/errors.ts";
import { tooOldMessage } from "../../core/command.ts";
import type { DeviceSession, DeviceStream, QuerySink, StreamRequest, StreamSink } from "../session.ts";
import type { DeviceGateway, StreamGateway } from "./device-gateway.ts";
import { truncateMessage } from "../../../protocol/deployments/deployment-event.ts";

/** Maximum number of open queries of a device. */
export const MAX_QUERIES_PER_DEVICE = 16;

/** The devices whose sessions this instance has. A sink is not called before the method that takes it has returned. */
export class LocalGateway implements DeviceGateway, StreamGateway {
  readonly #find: (assetUuid: string) => DeviceSession | undefined;
  readonly #credentials: (deploymentId: string) => RegistryAuth | undefined;
  readonly #slots: ConcurrencyLimiter;

  /**
   * @param find returns the session that this instance has of the device
   * @param credentials returns the registry credentials of a deployment that are in the memory of this instance
   * @param onRefused called when a device has too many open queries
   */
  constructor(
    find: (assetUuid: string) => DeviceSession | undefined,
    credentials: (deploymentId: string) => RegistryAuth | undefined,
    onRefused?: () => void,
  ) {
    const message = "Too many open queries to this device.";
    this.#slots = new ConcurrencyLimiter(MAX_QUERIES_PER_DEVICE, message, undefined, onRefused);
    this.#find = find;
    this.#credentials = credentials;
  }

  has(assetUuid: string): boolean {
    return this.#find(assetUuid) !== undefined;
  }

  query(assetUuid: string, what: QueryKind, params: unknown, sink: QuerySink): Disposable {
    try {
      const session = this.#sessionFor(assetUuid, what);
      using resources = new DisposableStack();
      const slot = resources.use(this.#slots.acquire(assetUuid));
      resources.use(
        session.query(what, params, {
          answer: (body) => sink.answer(body),
          end: (error) => {
            slot[Symbol.dispose]();
            sink.end(error && toClientError(error));
          },
        }),
      );
      return resources.move();
    } catch (error) {
      const refusal = toEdgeError(error);
      return callSoon(() => sink.end(refusal));
    }
  }

  openStream(assetUuid: string, request: StreamRequest, sink: StreamSink): DeviceStream {
    try {
      return this.#session(assetUuid).openStream(request, sink);
    } catch (error) {
      const { code, message } = toEdgeError(error);
      const ended = callSoon(() => sink.end({ code, message }));
      return Object.assign(ended, { send: () => true, credit: () => true, resize: () => undefined });
    }
  }

  checkLiveness(assetUuid: string): void {
    this.#find(assetUuid)?.checkLiveness();
  }

  async credentials(deploymentId: string): Promise<RegistryAuth | undefined> {
    return this.#credentials(deploymentId);
  }

  #session(assetUuid: string): DeviceSession {
    const session = this.#find(assetUuid);
    if (!session) throw new EdgeError("DeviceNotReachable");
    return session;
  }

  #sessionFor(assetUuid: string, what: QueryKind): DeviceSession {
    const session = this.#session(assetUuid);
    const feature = `query ${what}`;
    if (session.unknownFeatures.has(feature)) {
      throw new EdgeError("DeviceTooOld", tooOldMessage([feature]), { features: [feature] });
    }
    return session;
  }
}

/** Calls `callback` in this turn of the event loop, unless disposed before. */
function callSoon(callback: () => void): Disposable {
  let isDisposed = false;
  queueMicrotask(() => {
    if (!isDisposed) callback();
  });
  return { [Symbol.dispose]: () => void (isDisposed = true) };
}

function toEdgeError(error: unknown): EdgeError {
  if (error instanceof EdgeError) return error;
  throw error;
}

// Codes that mean the same to the client.
const PASSED_THROUGH_CODES: ReadonlySet<ErrorCode> = new Set([
  "AppNotFound",
  "DeviceNotReachable",
  "EngineUnavailable",
  "VolumeInUse",
  "VolumeNotFound",
]);

/** Returns the error for the client when the device ended a query with an error. */
function toClientError(error: EdgeError): EdgeError {
  if (PASSED_THROUGH_CODES.has(error.code)) return error;
  return new EdgeError("DeviceFailed", truncateMessage(error.message), { device_code: error.code });
}
