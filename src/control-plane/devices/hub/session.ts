import type { WebSocket } from "ws";
import { type AgentFrame, CLOSE_CODES, type ControlFrame, decodeAgentFrame } from "../../../protocol/link/frames.ts";
import { negotiateVersion } from "../../../protocol/version.ts";
import type { HealthThresholds } from "../../../protocol/link/health-thresholds.ts";
import type { Asset } from "../../core/asset.ts";
import type { QueryKind } from "../../../protocol/link/device-query.ts";
import { unknownFeatures } from "../../../protocol/link/features.ts";
import type { FrameOutcome } from "../handlers.ts";
import { HealthMessageReader, isHealthMessage } from "../../../protocol/link/health-message.ts";
import type { DeviceSession, DeviceStream, QuerySink, StreamRequest, StreamSink } from "../session.ts";
import { StaleSessionError } from "../../store/sessions.ts";
import { repeatWhileUnavailable, StoreUnavailableError } from "../../store/unavailable.ts";
import { MessageQueue, MAX_WAITING_BYTES } from "./message-queue.ts";
import {
  type DeviceConnection,
  type DeploymentFrame,
  handleDeploymentFrame,
  type Hello,
  type SessionHost,
} from "./session-host.ts";
import { SessionOutput } from "./session-output.ts";
import { SessionQueries } from "./session-queries.ts";
import { SessionStreams } from "./session-streams.ts";
import { BadFrameCounter, NO_BAD_FRAMES } from "./bad-frame-counter.ts";
import { LazyAbort } from "./lazy-abort.ts";
import { silenceTimer } from "./silence-timer.ts";

const HELLO_TIMEOUT_MS = 10_000;
const LIVENESS_TIMEOUT_MS = 10_000;

/** A message of the device, not parsed yet. A ping or pong has no data and is only charged. */
interface RawMessage {
  readonly data: Buffer | undefined;
  readonly isBinary: boolean;
}

/** One connection of a device, from before its hello until it is closed. */
export class HubSession implements DeviceSession {
  readonly id: string;
  readonly assetUuid: string;
  readonly #host: SessionHost;
  readonly #socket: WebSocket;
  readonly #output: SessionOutput;
  /** Until the welcome, which names it. */
  #asset: Asset | undefined;
  /** Until it is closed, by the hub. */
  watching: Disposable | undefined;
  readonly #messages: MessageQueue<RawMessage>;
  readonly #health = new HealthMessageReader();
  /** What the device was told of its thresholds, in JSON; `undefined`: nothing, so that its defaults hold. */
  #thresholds: string | undefined;
  /** Each is set when it is needed first: most sessions are idle. */
  #badFrames: BadFrameCounter | undefined;
  #queries: SessionQueries | undefined;
  #streams: SessionStreams | undefined;
  #helloTimer: Disposable | undefined;
  #livenessTimer: Disposable | undefined;
  #hasHello = false;
  #isWelcome = false;
  /** Aborts when the session is over. Later messages are not parsed. */
  readonly #ended = new LazyAbort();
  #lateBytes = 0;
  /** Set by the hello. */
  unknownFeatures: ReadonlySet<string> = new Set();
  /** Of the side that closed the connection first; `undefined` while it is open. */
  closeCode: number | undefined;
  /** Set by the hub when this becomes the device's current session; 0 before. */
  epoch = 0;
  /** Whether what the device holds was compared with the record. Only then is anything delivered. */
  #isReconciled = false;
  #isDeliveryRepeated = false;

  constructor({ id, socket, asset }: DeviceConnection, host: SessionHost) {
    const { clock, observer, frameRateLimiter } = host;
    this.id = id;
    this.assetUuid = asset.uuid;
    this.#asset = asset;
    this.#socket = socket;
    this.#host = host;
    this.#output = new SessionOutput(socket, observer, this);
    this.#messages = new MessageQueue(
      clock,
      socket,
      (message) => this.#handle(message),
      (error) => this.#fail(error),
    );
    const onNoHello = (): void => this.close(CLOSE_CODES.helloTimeout, "no hello in time");
    this.#helloTimer = silenceTimer(clock, HELLO_TIMEOUT_MS, onNoHello);
    // A device that has sent too much on its earlier connections is not read at first.
    if (frameRateLimiter.waitMs(asset.uuid) > 0) {
      this.#messages.pauseUntil(frameRateLimiter.untilWithin(asset.uuid, () => this.#ended.signal));
    }
    socket.on("message", (data, isBinary) => this.#receive({ data: data as Buffer, isBinary }));
    socket.on("ping", () => this.#receive({ data: undefined, isBinary: false }));
    socket.on("pong", () => this.#receive({ data: undefined, isBinary: false }));
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH") observer?.bounded("frame_size");
      this.log("warn", { reason: error.message }, "connection error");
    });
    socket.on("close", (code) => this.#onSocketClosed(code));
  }

  get isCurrent(): boolean {
    return this.#host.current.isCurrent(this);
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  query(what: QueryKind, params: unknown, sink: QuerySink): Disposable {
    this.#queries ??= new SessionQueries((frame) => this.send(frame));
    return this.#queries.open(what, params, sink);
  }

  openStream(request: StreamRequest, sink: StreamSink): DeviceStream {
    this.#streams ??= new SessionStreams(this.#output, this.#host.clock);
    return this.#streams.open(request, sink);
  }

  send(frame: ControlFrame): void {
    this.#output.sendFrame(frame);
  }

  flushStreams(): void {
    this.#streams?.flush();
  }

  setHealthThresholds(thresholds: HealthThresholds | undefined): void {
    const text = thresholds && JSON.stringify(thresholds);
    // Before the welcome, which has them.
    if (!this.#isWelcome || text === this.#thresholds) return;
    this.#thresholds = text;
    this.send({ type: "health_thresholds", ...(thresholds && { thresholds }) });
  }

  /** Brings over what waits for the device. Before the device is reconciled that follows anyway. */
  deliver(): void {
    if (!this.#isReconciled) return;
    // Another wake-up during an outage changes nothing: what is repeated reads everything.
    if (this.#isDeliveryRepeated) return;
    const deliver = (): Promise<void> => this.#host.handlers.delivery.deliver(this);
    deliver()
      .catch((error: unknown) => {
        if (!(error instanceof StoreUnavailableError) || this.#isDeliveryRepeated) throw error;
        this.#isDeliveryRepeated = true;
        return this.#repeat(deliver).finally(() => (this.#isDeliveryRepeated = false));
      })
      .catch((error: unknown) => this.#fail(error));
  }

  checkLiveness(): void {
    const socket = this.#socket;
    if (this.#livenessTimer || socket.readyState !== socket.OPEN) return;
    socket.ping();
    this.#livenessTimer = silenceTimer(this.#host.clock, LIVENESS_TIMEOUT_MS, () => {
      this.log("warn", {}, "no sign of life; connection cut");
      this.terminate();
    });
  }

  /** Closes the connection with a closing handshake. Later messages are dropped. */
  close(code: number, reason: string): void {
    this.#end(code);
    this.#socket.close(code, reason);
  }

  /** Resolves when no message is being handled. */
  whenIdle(): Promise<void> {
    return this.#messages.whenIdle();
  }

  /** Closes the connection without a handshake. */
  terminate(): void {
    this.#end();
    this.#socket.terminate();
  }

  /** Logs something about this session. A logger of its own would be the largest part of an idle session. */
  log(level: "info" | "warn" | "error", fields: object, message: string): void {
    this.#host.logger[level]({ session: this.id, asset: this.assetUuid, ...fields }, message);
  }

  #end(code?: number): void {
    this.closeCode ??= code;
    this.#messages.close();
    this.#queries?.close();
    this.#streams?.end();
    this.#streams = undefined;
    this.#stopHelloTimer();
    this.#ended.abort();
  }

  /** Queues a message. It is parsed only in its turn, so that a bad frame costs the device as much as a valid one. */
  #receive(message: RawMessage): void {
    this.#stopLivenessTimer();
    const bytes = message.data?.length ?? 0;
    if (bytes > 0) this.#host.observer?.received(bytes);
    const isFast = message.isBinary && this.#streams?.isInUse === true;
    this.#host.frameRateLimiter.chargeBytes(this.assetUuid, bytes, isFast);
    if (this.#ended.aborted) return this.#countLateBytes(bytes);
    this.#messages.push(message, bytes);
  }

  /** Tolerates `MAX_WAITING_BYTES` during the closing handshake, so that the device receives the close code. */
  #countLateBytes(bytes: number): void {
    const before = this.#lateBytes;
    this.#lateBytes += bytes;
    if (before > MAX_WAITING_BYTES || this.#lateBytes <= MAX_WAITING_BYTES) return;
    const fields = { late_bytes: this.#lateBytes };
    this.log("warn", fields, "the device goes on sending after its session is over; connection cut");
    this.#socket.terminate();
  }

  async #handle({ data, isBinary }: RawMessage): Promise<void> {
    const { frameRateLimiter, handlers } = this.#host;
    const ended = this.#ended;
    const bytes = data?.length ?? 0;
    const signal = (): AbortSignal => ended.signal;
    await frameRateLimiter.untilWithin(this.assetUuid, signal);
    if (data && isBinary && !ended.aborted && this.isCurrent) {
      if (isHealthMessage(data)) return this.#onHealth(data);
      return this.#countIfBad(this.#streams ? this.#streams.onData(data) : "binary");
    }
    if (!data || ended.aborted) return;
    const frame = frameRateLimiter.read(this.assetUuid, bytes, () => this.#decode(data, isBinary));
    if (!frame) return;
    await frameRateLimiter.acquireForFrame(this.assetUuid, frame, bytes, signal);
    if (ended.aborted) return;
    if (frame.type === "hello") return this.#onHello(frame);
    if (!this.isCurrent) return;
    switch (frame.type) {
      case "report":
        return this.#repeat(() => handlers.reportHandler.onReport(this, frame));
      case "report_held":
        return this.#repeat(() => handlers.reportHandler.onReportHeld(this, frame.since_s));
      case "answer": {
        const receiver = this.#queries?.receiverOf(frame.query_id);
        return this.#repeat(async () => receiver?.answer(frame.body));
      }
      case "query_end":
        return this.#queries?.end(frame.query_id, frame.code, frame.message);
      case "stream_opened":
      case "stream_credit":
      case "stream_close":
        return this.#countIfBad(this.#streams ? this.#streams.onFrame(frame) : `${frame.type} without streams`);
      case "ack":
      case "refuse":
      case "event":
        return this.#countRejected(frame, await this.#repeat(() => handleDeploymentFrame(handlers, this, frame)));
    }
  }

  /**
   * Does what a frame asks for, again and again while the store is unavailable. The device's later frames wait meanwhile, and
   * nothing is acknowledged: if the session ends before, the device sends it again.
   */
  #repeat<T>(work: () => Promise<T>): Promise<T> {
    const ended = this.#ended;
    return repeatWhileUnavailable(work, {
      clock: this.#host.clock,
      get signal() {
        return ended.signal;
      },
    });
  }

  #countIfBad(reason: string | undefined): void {
    if (reason !== undefined) this.#countBadFrame(reason);
  }

  /** Returns the frame if it must be handled. Counts bad and unknown ones. */
  #decode(data: Buffer, isBinary: boolean): AgentFrame | undefined {
    const decoded = isBinary ? ({ kind: "bad", reason: "binary" } as const) : decodeAgentFrame(data);
    if (decoded.kind === "unknown") this.#counter().countUnknown(decoded.type);
    if (decoded.kind === "bad") {
      this.#streams?.onBadFrame(data);
      this.#countBadFrame(decoded.reason);
    }
    if (decoded.kind !== "frame") return undefined;
    const { frame } = decoded;
    const isHello = frame.type === "hello";
    if (isHello && this.#hasHello) return this.#countBadFrame("hello twice");
    if (!isHello && !this.#hasHello) return this.#countBadFrame(`${frame.type} before hello`);
    if (isHello) this.#stopHelloTimer();
    this.#hasHello = true;
    return frame;
  }

  #countRejected({ type }: DeploymentFrame, outcome: FrameOutcome): void {
    if (outcome === "foreign") this.#countBadFrame(`${type} for a deployment this device does not have`);
    if (outcome === "unknown") this.#counter().countUnknown(`${type} for a deployment without a record`);
  }

  async #onHealth(data: Buffer): Promise<void> {
    const { frameRateLimiter, handlers } = this.#host;
    const report = frameRateLimiter.read(this.assetUuid, data.length, () => this.#health.read(data));
    if (!report) return this.#countBadFrame("health");
    await frameRateLimiter.acquireForHealth(this.assetUuid, () => this.#ended.signal);
    if (!this.#ended.aborted) await this.#repeat(() => handlers.healthHandler.onHealth(this, report));
  }

  async #onHello(hello: Hello): Promise<void> {
    const { frameRateLimiter, handlers, observer, protocols } = this.#host;
    const protocol = negotiateVersion(hello.protocol, protocols);
    if (protocol === undefined) {
      this.log("warn", { protocol: hello.protocol, agent_version: hello.agent_version }, "agent too old");
      return this.close(CLOSE_CODES.unsupportedProtocol, "protocol version not supported");
    }
    this.unknownFeatures = unknownFeatures(protocol, protocols);
    // Closed meanwhile: it must not become the current session.
    const current = await this.#repeat(async () =>
      this.isOpen ? this.#host.current.becomeCurrent(this, { ...hello, protocol }) : undefined,
    );
    const asset = this.#asset;
    if (!current || !asset) return;
    const thresholds = await this.#repeat(() => handlers.thresholds.thresholdsOf(asset));
    if (!this.isOpen) return;
    this.#asset = undefined;
    this.#thresholds = thresholds && JSON.stringify(thresholds);
    const { uuid, serialNumber, name } = asset;
    this.send({
      type: "welcome",
      protocol,
      session_id: this.id,
      asset: { uuid, serial_number: serialNumber, name },
      ...(current.reportHash !== undefined && { report_hash: current.reportHash }),
      ...(current.healthAt !== undefined && { health_at: current.healthAt }),
      ...(thresholds && { health_thresholds: thresholds }),
      time: Math.floor(this.#host.clock.now() / 1000),
    });
    this.#isWelcome = true;
    observer?.sessionOpened();
    this.log(
      "info",
      { agent_version: hello.agent_version, protocol, deployments: hello.deployments.length },
      "device online",
    );
    await current.earlierSessionsIdle;
    const held = hello.deployments.map((deployment) => deployment.deployment_id);
    // Most devices have nothing on record and hold nothing, which needs no comparison. What is requested from now on is delivered.
    if (current.mustReconcile || held.length > 0) {
      const reconciled = await this.#repeat(() => handlers.deploymentHandler.onConnected(this, held));
      frameRateLimiter.chargeDeployments(this.assetUuid, reconciled);
    }
    // Before the store is read: a wake-up from now on is not lost.
    this.#isReconciled = true;
    await this.#repeat(() => handlers.delivery.deliver(this));
  }

  #countBadFrame(reason: string): undefined {
    this.#host.observer?.bounded("bad_frame");
    if (this.#counter().add(reason)) this.close(CLOSE_CODES.badFrame, "too many bad frames");
    return undefined;
  }

  #counter(): BadFrameCounter {
    this.#badFrames ??= new BadFrameCounter((level, fields, message) => this.log(level, fields, message));
    return this.#badFrames;
  }

  #fail(error: unknown): void {
    if (error instanceof StaleSessionError) return void this.#host.current.onStale(this);
    // The session has ended while the store was unavailable.
    if (error instanceof StoreUnavailableError) return;
    this.log("error", { err: error }, "cannot handle a frame");
    this.close(CLOSE_CODES.internal, "internal error");
  }

  /** Forgets it, too: a timer that is over would stay as long as the session. */
  #stopHelloTimer(): void {
    this.#helloTimer?.[Symbol.dispose]();
    this.#helloTimer = undefined;
  }

  /** Any message, ping or pong proves that the device is alive. */
  #stopLivenessTimer(): void {
    this.#livenessTimer?.[Symbol.dispose]();
    this.#livenessTimer = undefined;
  }

  #onSocketClosed(code: number): void {
    const { observer, current } = this.#host;
    this.#end(code);
    observer?.connectionClosed(code, this.#isWelcome);
    this.#stopLivenessTimer();
    this.log(
      "info",
      { close_code: code, ...(this.#badFrames?.counts ?? NO_BAD_FRAMES) },
      this.#hasHello ? "device offline" : "connection closed",
    );
    current.onClosed(this);
  }
}
