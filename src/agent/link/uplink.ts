import { pause } from "../../lib/clock.ts";
import { fullJitter } from "../../lib/backoff.ts";
import { type AttemptOutcome, INITIAL_LINK_STATE, type Jitter, nextAttempt } from "../core/link/link-state.ts";
import type { TrafficFollower } from "../ledger/ledger.ts";
import { type Connect, createConnect } from "./connect.ts";
import type { FrameHandlerOptions } from "./frame-handler.ts";
import { FrameMeter } from "./frame-meter.ts";
import type { ReconnectLimiter } from "./reconnect-limiter.ts";
import type { LinkStatus, Welcome } from "./ports.ts";
import { runSession } from "./session.ts";

export interface UplinkOptions extends Omit<FrameHandlerOptions, "meter" | "onWelcome"> {
  readonly traffic: TrafficFollower;
  /** Limits the data used for connecting. Default: no limit. */
  readonly reconnectLimiter?: ReconnectLimiter;
  /** Default: as configured, through the proxy from the environment if there is one. */
  readonly connect?: Connect;
  /** Returns a number in [0, 1). Default: `Math.random`. */
  readonly random?: () => number;
}

/** The agent's link to the control plane. */
export interface Uplink {
  /**
   * Keeps the link open until `signal` aborts, then closes it. Retries after every failure, one attempt at a time. Rejects
   * only if it is already running.
   */
  run(signal: AbortSignal): Promise<void>;
  status(): LinkStatus;
  /** Calls `listener` with each new status until disposed. */
  onStatus(listener: (status: LinkStatus) => void): Disposable;
}

export function createUplink(options: UplinkOptions): Uplink {
  return new ReconnectingUplink(options);
}

class ReconnectingUplink implements Uplink {
  readonly #options: UplinkOptions;
  readonly #connect: Connect;
  readonly #meter: FrameMeter;
  readonly #jitter: Jitter;
  readonly #listeners = new Set<(status: LinkStatus) => void>();
  #status: Omit<LinkStatus, "frames">;
  /** Start of the time without a link, in monotonic milliseconds. */
  #offlineSince: number | undefined;
  #onlineAt: number | undefined;
  /** Bytes used by the last attempt. */
  #attemptBytes = 0;

  constructor(options: UplinkOptions) {
    const { config, clock, logger, agentVersion, random = Math.random } = options;
    this.#options = options;
    this.#connect = options.connect ?? createConnect(config, agentVersion);
    this.#meter = new FrameMeter(clock, logger);
    this.#jitter = (attempt, bounds) => fullJitter(attempt, bounds, random());
    this.#status = {
      state: "stopped",
      sinceMs: clock.monotonic(),
      lastError: undefined,
      nextTryAtMs: undefined,
      asset: undefined,
      reconnects: 0,
    };
  }

  status(): LinkStatus {
    return { ...this.#status, frames: this.#meter.counts };
  }

  onStatus(listener: (status: LinkStatus) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#status.state !== "stopped") throw new Error("the link runs already");
    try {
      await this.#reconnectLoop(signal);
    } finally {
      this.#enter({ state: "stopped", nextTryAtMs: undefined });
    }
  }

  async #reconnectLoop(signal: AbortSignal): Promise<void> {
    const { clock, config, logger } = this.#options;
    let state = INITIAL_LINK_STATE;
    this.#offlineSince = clock.monotonic();
    while (!signal.aborted) {
      this.#enter({ state: "connecting", nextTryAtMs: undefined });
      const outcome = await this.#attempt(signal);
      if (signal.aborted) return;
      const now = clock.monotonic();
      const onlineMs = this.#onlineAt === undefined ? 0 : now - this.#onlineAt;
      const next = nextAttempt(state, outcome, onlineMs, config.backoff, this.#jitter);
      state = next.state;
      const delayMs = Math.max(next.delayMs, this.#options.reconnectLimiter?.pauseAfter(this.#attemptBytes) ?? 0);
      // Failures that need a person are errors, so that they stand out among those of a poor link.
      logger[outcome.kind === "failed" || outcome.kind === "restarting" ? "warn" : "error"](
        { reason: outcome.reason, ...this.#durations(now, onlineMs), next_try_s: Math.ceil(delayMs / 1000) },
        this.#onlineAt === undefined
          ? "no link to the control plane; apps keep running and the agent retries. To find the cause: edge-agent doctor"
          : "link to the control plane lost; apps keep running and the agent reconnects",
      );
      this.#enter({
        state: "waiting",
        lastError: { reason: outcome.reason, atMs: now },
        nextTryAtMs: now + delayMs,
      });
      // Rejects only if the signal aborts, which the loop condition checks.
      await pause(clock, delayMs, signal);
    }
  }

  /** The duration of the outage, or of the session that ended. */
  #durations(now: number, onlineMs: number): { readonly offline_s: number } | { readonly online_s: number } {
    if (this.#onlineAt === undefined) return { offline_s: Math.round((now - (this.#offlineSince ??= now)) / 1000) };
    this.#offlineSince = now;
    return { online_s: Math.round(onlineMs / 1000) };
  }

  #attempt(signal: AbortSignal): Promise<AttemptOutcome> {
    this.#onlineAt = undefined;
    this.#attemptBytes = 0;
    const onWelcome = (welcome: Welcome): void => this.#online(welcome);
    const onConnectCost = (bytes: number): void => void (this.#attemptBytes = bytes);
    return runSession(
      { ...this.#options, connect: this.#connect, meter: this.#meter, onWelcome, onConnectCost },
      signal,
    );
  }

  #online({ asset, session_id: sessionId, protocol }: Welcome): void {
    const isFirst = this.#status.asset === undefined;
    this.#onlineAt = this.#options.clock.monotonic();
    this.#options.logger.info(
      { serial_number: asset.serial_number, asset: asset.uuid, session_id: sessionId, protocol },
      "online: linked to the control plane",
    );
    this.#enter({ state: "online", asset, reconnects: this.#status.reconnects + (isFirst ? 0 : 1) });
  }

  #enter(change: Partial<Omit<LinkStatus, "frames">> & Pick<LinkStatus, "state">): void {
    this.#status = { ...this.#status, ...change, sinceMs: this.#options.clock.monotonic() };
    for (const listener of this.#listeners) {
      try {
        listener(this.status());
      } catch (error) {
        this.#options.logger.error(
          { err: error },
          "a listener of the link's status failed; the link is not affected. Please report it: edge-agent support-bundle FILE",
        );
      }
    }
  }
}
