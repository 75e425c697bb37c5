import type { QueryKind } from "../../protocol/device-query.ts";
import type { EdgeError } from "../../protocol/errors.ts";
import type { ProtocolFeature } from "../../protocol/features.ts";
import type { ControlFrame } from "../../protocol/frames.ts";

/** A connected device. Implemented by `hub/`. */
export interface DeviceSession {
  readonly id: string;
  readonly assetUuid: string;
  /** Increases with every session of any device: of two sessions of one device, the higher number is the later one. */
  readonly epoch: number;
  /** Whether the negotiated protocol version has the feature. */
  supports(feature: ProtocolFeature): boolean;
  /** Writes the frame to the connection. Delivery is not confirmed. */
  send(frame: ControlFrame): void;
  /** Sends a query. Disposing of it cancels the query on the device, unless it has ended. */
  query(what: QueryKind, params: unknown, sink: QuerySink): Disposable;
  /** Pings the device, and ends the session unless a sign of life follows soon. */
  checkLiveness(): void;
}

/** Receives the answers to a query. */
export interface QuerySink {
  /** Takes one answer, not validated yet. Nothing more is read from the device until the promise resolves. */
  answer(body: unknown): void | Promise<void>;
  /** Called at most once; nothing follows. An error means that the query was not answered completely. */
  end(error: EdgeError | undefined): void;
}

/** The connected devices. */
export interface DeviceDirectory {
  /** Returns the device's current session, if it has one. */
  find(assetUuid: string): DeviceSession | undefined;
}
