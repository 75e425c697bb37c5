import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { type AgentFrame, CLOSE_CODES, type ControlFrame, decodeControlFrame } from "../../protocol/link/frames.ts";
import { truncateMessage } from "../../protocol/deployments/deployment-event.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { negotiateVersion, PROTOCOL_VERSION } from "../../protocol/version.ts";
import { unsupported } from "../core/link/link-outcome.ts";
import type { AttemptOutcome } from "../core/link/link-state.ts";
import type { FrameMeter } from "./frame-meter.ts";
import { Keepalive } from "./keepalive.ts";
import { fixedInterval, type KeepaliveInterval } from "./keepalive-interval.ts";
import type { EventSource } from "../store/outbox.ts";
import { type FrameSink, OutboxPump } from "./outbox-pump.ts";
import { ResponseSender } from "./response-sender.ts";
import type { CommandHandler, DeviceReporting, LinkConfig, SessionStreams, StreamServer, Welcome } from "./ports.ts";
import { HealthSender } from "./health-sender.ts";
import { ReportSender } from "./report-sender.ts";
import { LinkQueries } from "./session-queries.ts";

/** Number of invalid or out-of-order frames after which the session is closed. More than one, since a new session costs data. */
export const MAX_BAD_FRAMES = 20;

/** Timeout for the response to `hello`, in milliseconds. */
export const WELCOME_TIMEOUT_MS = 10_000;

/** Time an event may stay unacknowledged before the link is probed, in milliseconds. */
const ACK_TIMEOUT_MS = 30_000;

/** Maximum number of open deployments in `hello`. */
const MAX_OPEN_DEPLOYMENTS = 1_000;

/** The part of a connection that the frame handler uses. */
export interface Channel extends FrameSink {
  sendBinary(message: Uint8Array, onSent: () => void): void;
  ping(): void;
  /** Ends the session with a close code. */
  close(code: number, outcome: AttemptOutcome): void;
  /** Ends the session without a closing handshake, for a connection that is dead. */
  cut(outcome: AttemptOutcome): void;
}

export interface FrameHandlerOptions {
  readonly config: LinkConfig;
  readonly commands: CommandHandler;
  readonly events: EventSource;
  /** Reports and queries; left out, the agent sends no reports and answers no queries. */
  readonly reporting?: DeviceReporting | undefined;
  /** Streams to apps; left out, the agent opens none. */
  readonly streams?: StreamServer | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly agentVersion: string;
  readonly meter: FrameMeter;
  /** Keep-alive interval. Default: fixed, as configured. */
  readonly keepaliveInterval?: KeepaliveInterval;
  /** Called when the session is open. */
  readonly onWelcome: (welcome: Welcome) => void;
}

/** Handles the frames of one session on an open connection: handshake, commands, events. Never throws for a frame. */
export class FrameHandler implements Disposable {
  readonly #options: FrameHandlerOptions;
  readonly #channel: Channel;
  readonly #keepalive: Keepalive;
  readonly #owned = new DisposableStack();
  #welcomeTimer: Disposable | undefined;
  /** As of the clock watch. */
  readonly #helloAtMs: number;
  #pump: OutboxPump | undefined;
  #responses: ResponseSender | undefined;
  #queries: LinkQueries | undefined;
  #health: HealthSender | undefined;
  /** Set once the control plane has opened a stream. */
  #streams: SessionStreams | undefined;
  #badFrames = 0;
  #goodbyeWindowMs: number | undefined;

  /** Sends `hello`. Throws if the store cannot be read. */
  constructor(options: FrameHandlerOptions, connection: Channel) {
    this.#options = options;
    const channel = this.#withStreamsAfter(connection);
    this.#channel = channel;
    const { clock, config, commands } = options;
    const open = commands.openDeployments().slice(0, MAX_OPEN_DEPLOYMENTS);
    this.#keepalive = this.#owned.use(
      new Keepalive({
        clock,
        times: { pongTimeoutMs: config.pongTimeoutMs, ackTimeoutMs: ACK_TIMEOUT_MS },
        interval: options.keepaliveInterval ?? fixedInterval(config.keepaliveMs),
        unackedSince: () => this.#pump?.unackedSince,
        probe: () => channel.ping(),
        onDead: () => channel.cut(failed("the link was dead: a probe was not answered in time")),
      }),
    );
    this.#helloAtMs = options.reporting?.clockWatch?.elapsed() ?? 0;
    this.#welcomeTimer = this.#owned.use(
      clock.timer(WELCOME_TIMEOUT_MS, () => channel.cut(failed("the control plane did not answer the handshake"))),
    );
    this.#send({
      type: "hello",
      protocol: PROTOCOL_VERSION,
      agent_version: options.agentVersion.slice(0, 64),
      deployments: open.map((deployment_id) => ({ deployment_id })),
    });
  }

  /** The reconnect window from a `goodbye`, in milliseconds. */
  get goodbyeWindowMs(): number | undefined {
    return this.#goodbyeWindowMs;
  }

  /** The connection was closed by neither this side nor the service. */
  onClosedBetween(): void {
    if (this.#pump && this.#goodbyeWindowMs === undefined) this.#keepalive.closed();
  }

  /** A ping proves that the link is alive. */
  onPing(): void {
    this.#keepalive.onReceived();
    this.#health?.onTraffic();
  }

  onPong(): void {
    this.#responses?.pong();
    this.#health?.onTraffic();
    const probedAt = this.#keepalive.pong();
    // Messages arrive in order, so events sent before the probe have arrived. Those that are still unacknowledged after
    // the timeout will not be acknowledged in this session.
    if (probedAt !== undefined) this.#pump?.stopWaiting(probedAt - ACK_TIMEOUT_MS);
  }

  /** Data of streams is all that is binary. */
  onBinary(message: Uint8Array): void {
    this.#keepalive.onReceived();
    if (this.#streams?.onData(message) !== true) this.#countBadFrame("binary message");
  }

  onText(text: Uint8Array | string): void {
    this.#keepalive.onReceived();
    this.#health?.onTraffic();
    const decoded = decodeControlFrame(text);
    switch (decoded.kind) {
      case "bad":
        return this.#countBadFrame(decoded.reason);
      case "unknown":
        return this.#options.meter.count("unknown", /^[a-z_]+$/.test(decoded.type) ? decoded.type : "(no name)");
      case "frame":
        return this.#handleFrame(decoded.frame);
    }
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }

  #handleFrame(frame: ControlFrame): void {
    if (frame.type === "goodbye") return this.#onGoodbye(frame);
    if (frame.type === "welcome")
      return this.#pump ? this.#countBadFrame("second welcome") : this.#onWelcomeFrame(frame);
    const pump = this.#pump;
    if (!pump) return this.#countBadFrame(`${frame.type} before welcome`);
    switch (frame.type) {
      case "deploy":
        return this.#acceptCommand(pump, frame.deployment_id, (commands) =>
          commands.deploy(frame.deployment_id, frame.spec, frame.options),
        );
      case "command":
        return this.#acceptCommand(pump, frame.deployment_id, (commands) =>
          commands.change(frame.deployment_id, frame),
        );
      case "apply":
        return this.#acceptCommand(pump, frame.deployment_id, (commands) =>
          commands.apply(frame.deployment_id, frame.request, frame.options),
        );
      case "update_agent":
        return this.#acceptCommand(pump, frame.deployment_id, (commands) =>
          commands.updateAgent(frame.deployment_id, frame.request, frame.options),
        );
      case "cancel":
        return this.#cancel(frame.deployment_id, frame.reason);
      case "event_ack":
        if (!pump.acknowledge(frame.deployment_id, frame.device_seq)) this.#options.meter.count("stray", frame.type);
        return;
      case "query":
        return this.#queries
          ? this.#queries.begin(frame.query_id, frame.what, frame.params)
          : this.#options.meter.count("stray", frame.type);
      case "query_cancel":
        return this.#queries?.cancel(frame.query_id);
      case "health_thresholds":
        return this.#options.reporting?.health?.setThresholds(frame.thresholds);
      case "stream_open":
      case "stream_credit":
      case "stream_close":
      case "stream_resize":
        if (frame.type === "stream_open") this.#beginStreams();
        if (this.#streams?.onFrame(frame) !== true) this.#countBadFrame(frame.type);
    }
  }

  #beginStreams(): void {
    const { streams } = this.#options;
    if (this.#streams || !streams) return;
    const channel = this.#channel;
    this.#streams = this.#owned.use(
      streams.begin({
        get bufferedAmount() {
          return channel.bufferedAmount;
        },
        sendFrame: (frame) => this.#send(frame),
        sendData: (message) => channel.sendBinary(message, noop),
      }),
    );
  }

  /** Data of streams is sent only when nothing else waits, so they are told whenever something was sent. */
  #withStreamsAfter(channel: Channel): Channel {
    const after = (onSent: () => void) => (): void => {
      onSent();
      this.#streams?.onSent();
    };
    return {
      get bufferedAmount() {
        return channel.bufferedAmount;
      },
      send: (text, onSent) => channel.send(text, after(onSent)),
      sendBinary: (message, onSent) => channel.sendBinary(message, after(onSent)),
      ping: () => channel.ping(),
      close: (code, outcome) => channel.close(code, outcome),
      cut: (outcome) => channel.cut(outcome),
    };
  }

  #onWelcomeFrame(frame: Welcome): void {
    if (negotiateVersion(frame.protocol) !== frame.protocol) {
      const outcome = unsupported(`it wants version ${frame.protocol}, this is version ${PROTOCOL_VERSION}`);
      this.#channel.close(CLOSE_CODES.unsupportedProtocol, outcome);
      return;
    }
    this.#welcomeTimer?.[Symbol.dispose]();
    const { events, clock, logger, onWelcome } = this.#options;
    this.#options.keepaliveInterval?.onSessionOpened();
    if (frame.time !== undefined) this.#options.reporting?.clockWatch?.onServiceTime(frame.time, this.#helloAtMs);
    onWelcome(frame);
    this.#pump = this.#owned.use(
      new OutboxPump({ events, clock, logger, sink: this.#channel, onSent: () => this.#keepalive.check() }),
    );
    this.#pump.pump();
    this.#startReporting(frame);
  }

  /** Starts reports and queries. Events of deployments take precedence over both. */
  #startReporting({ report_hash: knownHash, health_at: confirmedAt, health_thresholds: thresholds }: Welcome): void {
    const { reporting, clock, logger } = this.#options;
    if (!reporting) return;
    const responses = this.#owned.use(
      new ResponseSender({
        send: (text, onSent) =>
          this.#channel.send(text, () => {
            onSent();
            this.#pump?.drained();
          }),
        ping: () => this.#channel.ping(),
      }),
    );
    this.#responses = responses;
    this.#queries = this.#owned.use(new LinkQueries({ handler: reporting.queries, responses, logger }));
    this.#owned.use(new ReportSender({ reports: reporting.reports, responses, logger, knownHash }));
    const { health } = reporting;
    if (!health) return;
    health.begin(confirmedAt, thresholds);
    const send = (bytes: Uint8Array): void => this.#channel.sendBinary(bytes, () => this.#pump?.drained());
    this.#health = this.#owned.use(new HealthSender({ health, clock, send, confirmedAt }));
    this.#health.onTraffic();
  }

  #acceptCommand(pump: OutboxPump, deploymentId: string, action: (commands: CommandHandler) => void): void {
    const { commands, logger } = this.#options;
    // The acknowledgement is sent before the command's first event.
    pump.withPaused(() => {
      try {
        action(commands);
      } catch (error) {
        logger.error(
          { err: error, deployment_id: deploymentId },
          "a deployment could not be stored and is not acknowledged; the control plane reports it as failed. See: edge-agent doctor (disk, store)",
        );
        if (!(error instanceof EdgeError)) return;
        const { code, message } = error;
        return this.#send({ type: "refuse", deployment_id: deploymentId, code, message: truncateMessage(message) });
      }
      this.#send({ type: "ack", deployment_id: deploymentId });
    });
  }

  #cancel(deploymentId: string, reason: Extract<ControlFrame, { type: "cancel" }>["reason"]): void {
    try {
      this.#options.commands.cancel(deploymentId, reason);
    } catch (error) {
      this.#options.logger.error(
        { err: error, deployment_id: deploymentId },
        "a cancellation could not be stored; the control plane sends it again in the next session. See: edge-agent doctor (disk, store)",
      );
    }
  }

  #onGoodbye(frame: Extract<ControlFrame, { type: "goodbye" }>): void {
    if (this.#goodbyeWindowMs !== undefined) return this.#countBadFrame("second goodbye");
    const windowMs = frame.retry_after_s * 1000;
    this.#goodbyeWindowMs = windowMs;
    const { clock, config } = this.#options;
    // The control plane closes after goodbye. If it does not, the agent would notice only at the next keep-alive.
    const leave = (): void =>
      this.#channel.close(CLOSE_CODES.goingAway, {
        kind: "restarting",
        windowMs,
        reason: "the control plane is restarting",
      });
    this.#owned.use(clock.timer(config.pongTimeoutMs, leave));
  }

  #countBadFrame(why: string): void {
    this.#options.meter.count("bad", why);
    if (++this.#badFrames !== MAX_BAD_FRAMES) return;
    const outcome = failed(`the control plane sent ${MAX_BAD_FRAMES} invalid frames in one session`);
    this.#channel.close(CLOSE_CODES.badFrame, outcome);
  }

  #send(frame: AgentFrame): void {
    this.#channel.send(JSON.stringify(frame), () => this.#pump?.drained());
  }
}

function noop(): void {}

function failed(reason: string): AttemptOutcome {
  return { kind: "failed", reason };
}
