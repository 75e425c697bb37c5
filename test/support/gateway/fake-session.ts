import type {
  DeviceSession,
  DeviceStream,
  QuerySink,
  StreamRequest,
  StreamSink,
} from "../../../src/control-plane/devices/session.ts";
import type { QueryKind } from "../../../src/protocol/link/device-query.ts";
import type { EdgeError } from "../../../src/protocol/errors/errors.ts";
import { waitFor } from "../wait-for.ts";

/** A query as the device has it. */
export interface SeenQuery {
  readonly what: QueryKind;
  readonly params: unknown;
  readonly sink: QuerySink;
  isCancelled: boolean;
}

/** A stream as the device has it. */
export interface SeenStream {
  readonly request: StreamRequest;
  readonly sink: StreamSink;
  readonly data: { readonly channel: number; readonly bytes: Uint8Array }[];
  readonly credits: number[];
  readonly sizes: (readonly [number, number])[];
  isClosed: boolean;
}

/** A connected device whose answers the test gives. */
export class FakeSession implements DeviceSession {
  readonly id = "session";
  readonly epoch = 1;
  readonly isCurrent = true;
  readonly assetUuid: string;
  readonly queries: SeenQuery[] = [];
  readonly streams: SeenStream[] = [];
  livenessChecks = 0;
  unknownFeatures: ReadonlySet<string> = new Set();
  /** Thrown by the next query or stream. */
  refusal: EdgeError | undefined;

  constructor(assetUuid: string) {
    this.assetUuid = assetUuid;
  }

  send(): void {}

  setHealthThresholds(): void {}

  query(what: QueryKind, params: unknown, sink: QuerySink): Disposable {
    if (this.refusal) throw this.refusal;
    const query: SeenQuery = { what, params, sink, isCancelled: false };
    this.queries.push(query);
    return { [Symbol.dispose]: () => void (query.isCancelled = true) };
  }

  openStream(request: StreamRequest, sink: StreamSink): DeviceStream {
    if (this.refusal) throw this.refusal;
    const stream: SeenStream = { request, sink, data: [], credits: [], sizes: [], isClosed: false };
    this.streams.push(stream);
    return {
      // Copied: the memory may be used again.
      send: (channel, bytes) => stream.data.push({ channel, bytes: Uint8Array.from(bytes) }) > 0,
      credit: (bytes) => stream.credits.push(bytes) > 0,
      resize: (columns, rows) => void stream.sizes.push([columns, rows]),
      [Symbol.dispose]: () => void (stream.isClosed = true),
    };
  }

  checkLiveness(): void {
    this.livenessChecks++;
  }

  /** Waits for the first query. */
  firstQuery(): Promise<SeenQuery> {
    return waitFor("a query", () => this.queries[0]);
  }

  /** Waits for the first stream. */
  firstStream(): Promise<SeenStream> {
    return waitFor("a stream", () => this.streams[0]);
  }
}
