import { ArrivalCounter, CreditPool } from "../../lib/stream-receiver.ts";
import { StreamSender, type StreamSink } from "../../lib/stream-sender.ts";
import { truncateMessage } from "../../protocol/deployments/deployment-event.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { decodeStreamMessage } from "../../protocol/link/stream-data.ts";
import {
  type ControlStreamFrame,
  MAX_STREAM_CREDIT,
  STREAM_PARAMS,
  type StreamEnd,
  type StreamKind,
} from "../../protocol/link/streams.ts";
import { findRemoteAccessViolation } from "../core/policy/remote-access.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { SessionStreams, StreamConnection } from "../link/ports.ts";
import { serveRead, serveWrite } from "./copy.ts";
import { DeviceStream } from "./device-stream.ts";
import { serveExec } from "./exec.ts";
import { serveForward } from "./forward.ts";
import type { StreamHandler, StreamHandlers, StreamServices } from "./app-stream.ts";

/** Memory for data of clients that apps have not taken yet. */
const MAX_RECEIVED_BYTES = 1024 * 1024;

const HANDLERS: StreamHandlers = { forward: serveForward, exec: serveExec, read: serveRead, write: serveWrite };

type Open = Extract<ControlStreamFrame, { type: "stream_open" }>;

/** The streams of one session. */
export class DeviceStreams implements SessionStreams {
  readonly #connection: StreamConnection;
  readonly #services: StreamServices;
  readonly #sender: StreamSender;
  readonly #arrivals: ArrivalCounter;
  readonly #pool: CreditPool;
  readonly #open = new Map<number, DeviceStream>();
  #idleTimer: Disposable | undefined;

  constructor(connection: StreamConnection, services: StreamServices) {
    this.#connection = connection;
    this.#services = services;
    this.#pool = new CreditPool(MAX_RECEIVED_BYTES, services.limits.maxStreams);
    const sink: StreamSink = {
      get bufferedAmount() {
        return connection.bufferedAmount;
      },
      send: (message) => connection.sendData(message),
    };
    this.#sender = new StreamSender(sink, services.clock, services.link.mustYield);
    this.#arrivals = new ArrivalCounter(sink);
  }

  onFrame(frame: ControlStreamFrame): boolean {
    if (frame.type === "stream_open") return this.#begin(frame);
    // The stream may have been closed here while the frame was on its way.
    const stream = this.#open.get(frame.stream_id);
    switch (frame.type) {
      case "stream_credit":
        return this.#sender.grant(frame.stream_id, frame.bytes, MAX_STREAM_CREDIT);
      case "stream_resize":
        stream?.resize(frame.columns, frame.rows);
        return true;
      case "stream_close":
        stream?.close(new DOMException("the client has closed the stream", "AbortError"));
        return true;
    }
  }

  onData(message: Uint8Array): boolean {
    const decoded = decodeStreamMessage(message);
    if (!decoded) return false;
    if (decoded.kind === "arrived") return this.#sender.arrived(decoded.total);
    const { streamId, channel, bytes } = decoded;
    this.#arrivals.add(decoded);
    return this.#open.get(streamId)?.receive(channel, bytes) ?? true;
  }

  onSent(): void {
    this.#arrivals.flush();
    this.#sender.flush();
  }

  /** Closes the streams that the policy forbids now. */
  recheckPolicy(): void {
    for (const stream of this.#open.values()) {
      const error = this.#refusal(stream.kind);
      if (error) stream.close(error);
    }
  }

  [Symbol.dispose](): void {
    this.#idleTimer?.[Symbol.dispose]();
    for (const stream of this.#open.values()) stream.close(new DOMException("the session is over", "AbortError"));
    this.#sender[Symbol.dispose]();
  }

  #begin(frame: Open): boolean {
    const { stream_id: id, kind, app, by } = frame;
    if (this.#open.has(id)) return false;
    const params = STREAM_PARAMS[kind].safeParse(frame.params);
    const { limits, endings } = this.#services;
    const { maxStreams } = limits;
    const refusal =
      this.#refusal(kind) ??
      (this.#open.size + endings.size >= maxStreams
        ? new EdgeError("TooManyRequests", `The device serves at most ${maxStreams} streams at a time.`)
        : undefined) ??
      (params.success ? undefined : new EdgeError("InvalidRequest", "The parameters of the stream are not valid."));
    const facts = { stream_id: id, kind, app, by };
    if (refusal || !params.success) {
      this.#services.logger.warn({ ...facts, code: refusal?.code }, "remote access: stream refused");
      this.#close(id, toEnd(refusal));
      return true;
    }
    const { connection, sender, services } = {
      connection: this.#connection,
      sender: this.#sender,
      services: this.#services,
    };
    const options = { id, kind, app, params: params.data, credit: this.#pool.open(), connection, sender, services };
    const stream = new DeviceStream(options);
    this.#open.set(id, stream);
    sender.add(id, frame.credit);
    services.logger.info(facts, "remote access: stream opened");
    void this.#serve(stream, facts);
    this.#armIdleTimer();
    return true;
  }

  async #serve(stream: DeviceStream, facts: object): Promise<void> {
    using _stream = stream;
    const { clock, logger } = this.#services;
    const beganAt = clock.monotonic();
    let end: StreamEnd = { code: undefined };
    try {
      end = { code: undefined, ...(await serve(stream, this.#services)) };
    } catch (error) {
      const cause = stream.signal.aborted ? (stream.signal.reason as unknown) : error;
      // The client or the session ended it.
      if (!isAbort(cause)) end = toEnd(this.#toEdgeError(cause, stream));
    }
    this.#open.delete(stream.id);
    const seconds = Math.round((clock.monotonic() - beganAt) / 1000);
    const { sent, received } = stream.bytes;
    const outcome = { code: end.code, exit_code: end.exit_code };
    logger.info({ ...facts, ...outcome, sent, received, seconds }, "remote access: stream closed");
    this.#close(stream.id, end);
    if (this.#open.size === 0) this.#disarmIdleTimer();
  }

  #refusal(kind: StreamKind): EdgeError | undefined {
    const found = findRemoteAccessViolation(kind, this.#services.limits.allowed());
    return found && new EdgeError("PolicyDenied", found.message, { rule: found.rule });
  }

  #close(id: number, end: StreamEnd): void {
    const frame = { type: "stream_close" as const, stream_id: id, ...end };
    if (frame.code === undefined) delete frame.code;
    this.#connection.sendFrame(frame);
  }

  #toEdgeError(error: unknown, { kind, app }: DeviceStream): EdgeError {
    if (error instanceof EdgeError) return error;
    if (error instanceof EngineError) return fromEngine(error, app);
    this.#services.logger.error(
      { err: error, kind, app },
      "remote access: a stream failed. Please report it: edge-agent support-bundle FILE",
    );
    return new EdgeError("Internal", "The agent failed; its log says how.");
  }

  /** One timer for all streams, and none without. */
  #armIdleTimer(): void {
    if (this.#idleTimer) return;
    const { clock, limits } = this.#services;
    const oldest = Math.min(...[...this.#open.values()].map(({ activeAt }) => activeAt));
    const waitMs = Math.max(0, oldest + limits.idleMs - clock.monotonic());
    this.#idleTimer = clock.timer(waitMs, () => {
      this.#idleTimer = undefined;
      this.#closeIdle();
      if (this.#open.size > 0) this.#armIdleTimer();
    });
  }

  #disarmIdleTimer(): void {
    this.#idleTimer?.[Symbol.dispose]();
    this.#idleTimer = undefined;
  }

  #closeIdle(): void {
    const { clock, limits } = this.#services;
    const seconds = Math.round(limits.idleMs / 1000);
    for (const stream of this.#open.values()) {
      if (clock.monotonic() - stream.activeAt < limits.idleMs) continue;
      stream.activeAt = clock.monotonic();
      stream.close(new EdgeError("StreamIdle", `Nothing was sent for ${seconds} s, so the device closed the stream.`));
    }
  }
}

function serve(stream: DeviceStream, services: StreamServices): Promise<Pick<StreamEnd, "exit_code"> | undefined> {
  // The parameters were validated by the schema of this kind.
  const handler = HANDLERS[stream.kind] as StreamHandler<StreamKind>;
  return handler(stream, services);
}

function fromEngine({ kind, message }: EngineError, app: string): EdgeError {
  if (kind === "not_found" || kind === "conflict") {
    return new EdgeError("AppNotRunning", `The container of ${app} was stopped or replaced: ${message}`);
  }
  if (kind === "invalid") return new EdgeError("InvalidRequest", `The container engine refuses it: ${message}`);
  return new EdgeError("EngineUnavailable", `The container engine reports: ${message}`);
}

function toEnd(error: EdgeError | undefined): StreamEnd {
  return error ? { code: error.code, message: truncateMessage(error.message) } : { code: undefined };
}

function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
