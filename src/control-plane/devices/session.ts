import type { QueryKind } from "../../protocol/link/device-query.ts";
import type { EdgeError } from "../../protocol/errors/errors.ts";
import type { ControlFrame } from "../../protocol/link/frames.ts";
import type { HealthThresholds } from "../../protocol/link/health-thresholds.ts";
import type { StreamChannelId } from "../../protocol/link/stream-data.ts";
import type { StreamEnd, StreamKind } from "../../protocol/link/streams.ts";

/** A connected device. Implemented by `hub/`. */
export interface DeviceSession {
  readonly id: string;
  readonly assetUuid: string;
  /** Increases with each session of the device. */
  readonly epoch: number;
  /** Whether this is the device's session at this instance. Another instance may hold a later one. */
  readonly isCurrent: boolean;
  /** The features of the protocol that the device's version does not have. */
  readonly unknownFeatures: ReadonlySet<string>;
  /** Writes the frame to the connection. Delivery is not confirmed. */
  send(frame: ControlFrame): void;
  /** Sends a query. Disposing of it cancels the query on the device, unless it has ended. */
  query(what: QueryKind, params: unknown, sink: QuerySink): Disposable;
  /**
   * Opens a stream to an app of the device, until it ends or is disposed. All data between clients and apps passes here.
   * Throws `TooManyRequests`.
   */
  openStream(request: StreamRequest, sink: StreamSink): DeviceStream;
  /** Tells the device what it sends at once of how it is, if it was told something else; `undefined`: what it does by default. */
  setHealthThresholds(thresholds: HealthThresholds | undefined): void;
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

export interface StreamRequest {
  readonly kind: StreamKind;
  readonly app: string;
  /** Validated by the device, too. */
  readonly params: unknown;
  /** Bytes that the client takes. */
  readonly credit: number;
  /** Who opens it, for the device's log. */
  readonly by: string;
}

/** Receives what the device sends over a stream. Must not keep data waiting: the client has given credit for it. */
export interface StreamSink {
  opened(facts: { readonly credit: number; readonly is_directory?: boolean }): void;
  data(channel: StreamChannelId, bytes: Uint8Array): void;
  credit(bytes: number): void;
  /** Called at most once; nothing follows. Not called after the stream was disposed. */
  end(end: StreamEnd): void;
}

/** An open stream. Disposing it closes it on the device. */
export interface DeviceStream extends Disposable {
  /** Returns false if the device has given no credit for the data, or the client has ended its data. */
  send(channel: StreamChannelId, bytes: Uint8Array): boolean;
  /** Returns false if the client gives more credit than is allowed. */
  credit(bytes: number): boolean;
  resize(columns: number, rows: number): void;
}
