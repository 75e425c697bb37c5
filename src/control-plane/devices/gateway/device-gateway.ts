import type { RegistryAuth } from "../../../protocol/apps/deploy-request.ts";
import type { QueryKind } from "../../../protocol/link/device-query.ts";
import type { DeviceStream, QuerySink, StreamRequest, StreamSink } from "../session.ts";

/** Reaches the instance that holds a device's session, whichever it is. */
export interface DeviceGateway {
  /**
   * Sends a query to the device. Errors are given to `sink.end`: `DeviceNotReachable`, `DeviceTooOld`, and
   * `ServiceUnavailable` if the holder cannot be reached. Disposing of it cancels the query on the device.
   */
  query(assetUuid: string, what: QueryKind, params: unknown, sink: QuerySink): Disposable;
  /** Pings the device, and ends its session unless a sign of life follows soon. */
  checkLiveness(assetUuid: string): void;
  /** Returns the registry credentials of a deployment from the memory of the instance that received its request. */
  credentials(deploymentId: string): Promise<RegistryAuth | undefined>;
}

/** Opens streams to the apps of a device, whichever instance holds its session. */
export interface StreamGateway {
  /**
   * Opens a stream. Errors are given to `sink.end`: those of `DeviceSession.openStream`, `DeviceNotReachable`, `DeviceTooOld`,
   * and `ServiceUnavailable` if the holder cannot be reached.
   */
  openStream(assetUuid: string, request: StreamRequest, sink: StreamSink): DeviceStream;
}
