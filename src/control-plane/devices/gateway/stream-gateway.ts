import type { DeviceStream, StreamRequest, StreamSink } from "../session.ts";

/** Opens streams to the apps of a device, whichever instance holds its session. */
export interface StreamGateway {
  /**
   * Opens a stream. Errors are given to `sink.end`: those of `DeviceSession.openStream`, `DeviceNotReachable`, `DeviceTooOld`,
   * and `ServiceUnavailable` if the holder cannot be reached.
   */
  openStream(assetUuid: string, request: StreamRequest, sink: StreamSink): DeviceStream;
}
