import type { ClientRequest, IncomingMessage } from "node:http";
import type { RawData, WebSocket } from "ws";
import { CLOSE_CODES } from "../../protocol/link/frames.ts";
import { outcomeOfClose, outcomeOfHttpStatus, outcomeOfProxyStatus } from "../core/link/link-outcome.ts";
import type { AttemptOutcome } from "../core/link/link-state.ts";
import { explainNetworkError, isRemoteFailure } from "../core/net/network-error.ts";
import { parseRetryAfter } from "../../lib/retry-after.ts";
import type { Connect, ControlPlaneRoute } from "./connect.ts";
import { CONNECTION_OVERHEAD_BYTES, estimateOverhead } from "../core/traffic/overhead.ts";
import { type Channel, FrameHandler, type FrameHandlerOptions } from "./frame-handler.ts";
import type { TrafficFollower } from "../ledger/ledger.ts";
import type { Welcome } from "./ports.ts";

/** Timeout for opening the WebSocket, including DNS, proxy and TLS, in milliseconds. */
export const OPEN_TIMEOUT_MS = 20_000;

/** Close codes that the service does not send: without a close frame, with one that has no code, and of a normal end. */
const CODES_OF_OTHERS: ReadonlySet<number> = new Set([1006, 1005, 1000]);

/** Messages of the TLS handshake, the WebSocket upgrade and the first frames. */
const HANDSHAKE_MESSAGES = 8;
/** A ping and its pong. */
const PROBE_MESSAGES = 2;

export interface SessionOptions extends FrameHandlerOptions {
  readonly connect: Connect;
  /** Counts the bytes of each connection. */
  readonly traffic: TrafficFollower;
  /** Called once with the bytes used to connect, whether or not that led to a session. */
  readonly onConnectCost?: (bytes: number) => void;
}

/**
 * Makes one attempt to connect and, if it succeeds, runs one session. Resolves with the outcome once the connection is
 * closed. Never rejects. When `signal` aborts, the connection is closed with 1001.
 */
export async function runSession(options: SessionOptions, signal: AbortSignal): Promise<AttemptOutcome> {
  // Also closes what `ws` does not know: a connection to a proxy that has not responded yet.
  using cutter = abortOnDispose();
  let route: ControlPlaneRoute;
  let socket: WebSocket;
  try {
    route = await options.connect(cutter.signal);
    signal.throwIfAborted();
    socket = route.open();
  } catch (error) {
    const isFleetWide = isRemoteFailure(error);
    return {
      kind: "failed",
      reason: explainNetworkError(error, options.clock.timeOfDay()),
      ...(isFleetWide && { isFleetWide }),
    };
  }
  using session = new LinkSession(options, route, socket);
  const onAbort = (): void => session.leave();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await session.ended;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

class LinkSession implements Disposable {
  readonly ended: Promise<AttemptOutcome>;
  readonly #options: SessionOptions;
  readonly #route: ControlPlaneRoute;
  readonly #socket: WebSocket;
  readonly #openTimer: Disposable;
  readonly #traffic: Disposable;
  /** WebSocket messages in both directions. */
  #messages = 0;
  #isCostReported = false;
  /** Whether this side has ended it. */
  #isEnded = false;
  /** The counts when a probe was sent. */
  #probe: { readonly bytes: number; readonly messages: number } | undefined;
  #frameHandler: FrameHandler | undefined;
  /** The first outcome is the cause; later ones are consequences and are ignored. */
  #outcome: AttemptOutcome | undefined;

  constructor(options: SessionOptions, route: ControlPlaneRoute, socket: WebSocket) {
    this.#options = options;
    this.#route = route;
    this.#socket = socket;
    this.ended = new Promise((resolve) => {
      socket.on("close", (code) => resolve(this.#onClose(code)));
    });
    this.#traffic = options.traffic.follow(() => ({ ...bytesOf(route), messages: this.#messages }));
    socket.on("open", () => this.#onOpen());
    socket.on("unexpected-response", (_request: ClientRequest, response: IncomingMessage) => this.#onRefused(response));
    socket.on("error", (error) => this.#onError(error));
    socket.on("message", (data, isBinary) => this.#onMessage(data, isBinary));
    socket.on("ping", () => {
      // `ws` sends the pong.
      this.#messages += 2;
      this.#frameHandler?.onPing();
    });
    socket.on("pong", () => {
      this.#messages++;
      this.#reportKeepaliveCost();
      this.#frameHandler?.onPong();
    });
    this.#openTimer = options.clock.timer(OPEN_TIMEOUT_MS, () =>
      this.#cut({ kind: "failed", reason: this.#via("no connection within the time allowed") }),
    );
  }

  /** Ends the session because the agent stops. */
  leave(): void {
    this.#close(CLOSE_CODES.goingAway, { kind: "failed", reason: "the agent is stopping" });
  }

  [Symbol.dispose](): void {
    this.#openTimer[Symbol.dispose]();
    this.#frameHandler?.[Symbol.dispose]();
  }

  #onOpen(): void {
    this.#openTimer[Symbol.dispose]();
    const socket = this.#socket;
    const channel: Channel = {
      get bufferedAmount() {
        return socket.bufferedAmount;
      },
      send: (text, onSent) => {
        this.#messages++;
        socket.send(text, onSent);
      },
      sendBinary: (message, onSent) => {
        this.#messages++;
        socket.send(message, { binary: true }, onSent);
      },
      ping: () => {
        this.#probe = { bytes: this.#wireBytes, messages: this.#messages };
        this.#messages++;
        socket.ping();
      },
      close: (code, outcome) => this.#close(code, outcome),
      cut: (outcome) => this.#cut(outcome),
    };
    try {
      const onWelcome = (welcome: Welcome): void => {
        this.#reportConnectCost();
        this.#options.onWelcome(welcome);
      };
      this.#frameHandler = new FrameHandler({ ...this.#options, onWelcome }, channel);
    } catch (error) {
      this.#options.logger.error(
        { err: error },
        "the agent's own store cannot be read; the link is reopened until it can. See: edge-agent doctor (disk, store)",
      );
      this.#close(CLOSE_CODES.goingAway, { kind: "failed", reason: "the agent's own store cannot be read" });
    }
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    this.#messages++;
    // Frames received after the session's outcome is known are ignored.
    if (this.#outcome) return;
    if (isBinary) this.#frameHandler?.onBinary(data as Buffer);
    else this.#frameHandler?.onText(data as Buffer);
  }

  /** Reports the bytes used to connect, with an estimate for packet headers. */
  #reportConnectCost(): void {
    if (this.#isCostReported) return;
    this.#isCostReported = true;
    const bytes = this.#wireBytes;
    const cost = bytes + CONNECTION_OVERHEAD_BYTES + estimateOverhead(bytes, HANDSHAKE_MESSAGES);
    this.#options.onConnectCost?.(cost);
    if (this.#frameHandler) this.#options.keepaliveInterval?.onCost({ reconnectBytes: cost });
  }

  /** Reports what a probe and its answer cost, if nothing else was sent or received meanwhile. */
  #reportKeepaliveCost(): void {
    const probe = this.#probe;
    this.#probe = undefined;
    if (!probe || this.#messages - probe.messages !== PROBE_MESSAGES) return;
    const bytes = this.#wireBytes - probe.bytes;
    this.#options.keepaliveInterval?.onCost({ keepaliveBytes: bytes + estimateOverhead(bytes, PROBE_MESSAGES) });
  }

  get #wireBytes(): number {
    const { sent, received } = this.#route.wire;
    return sent + received;
  }

  #onRefused(response: IncomingMessage): void {
    const status = response.statusCode ?? 0;
    const { "retry-after": retryAfter, date } = response.headers;
    const retryAfterMs = parseRetryAfter(retryAfter, date, this.#options.clock.timeOfDay());
    const proxyStatus = this.#route.proxyStatus();
    const outcome =
      this.#route.proxy !== undefined && proxyStatus !== 200
        ? outcomeOfProxyStatus(proxyStatus ?? status, retryAfterMs)
        : outcomeOfHttpStatus(status, retryAfterMs);
    this.#cut(outcome);
  }

  #onError(error: Error): void {
    const code = (error as { code?: unknown }).code;
    if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH")
      this.#options.meter.count("bad", "larger than the maximum frame size");
    else if (typeof code === "string" && code.startsWith("WS_ERR_")) this.#options.meter.count("bad", "not WebSocket");
    const reason = this.#via(explainNetworkError(error, this.#options.clock.timeOfDay()));
    const isFleetWide = isRemoteFailure(error);
    this.#outcome ??= { kind: "failed", reason, ...(isFleetWide && { isFleetWide }) };
  }

  #onClose(code: number): AttemptOutcome {
    this.#traffic[Symbol.dispose]();
    this.#reportConnectCost();
    if (!this.#isEnded && CODES_OF_OTHERS.has(code)) this.#frameHandler?.onClosedBetween();
    return this.#outcome ?? outcomeOfClose(code, this.#frameHandler?.goodbyeWindowMs);
  }

  #close(code: number, outcome: AttemptOutcome): void {
    this.#end(outcome);
    this.#socket.close(code);
  }

  #cut(outcome: AttemptOutcome): void {
    this.#end(outcome);
    this.#socket.terminate();
  }

  #end(outcome: AttemptOutcome): void {
    this.#isEnded = true;
    this.#outcome ??= outcome;
    this[Symbol.dispose]();
  }

  /** Adds the proxy, if there is one, to the reason for a failure. */
  #via(reason: string): string {
    return this.#route.proxy === undefined ? reason : `${reason} (through the proxy ${this.#route.proxy})`;
  }
}

function bytesOf({ wire: { sent, received } }: ControlPlaneRoute): {
  readonly sent: number;
  readonly received: number;
} {
  return { sent, received };
}

function abortOnDispose(): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  return { signal: controller.signal, [Symbol.dispose]: () => controller.abort() };
}
