import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { LearnedStore } from "../store/store.ts";
import {
  bytesPerDay,
  learnClosed,
  learnSurvived,
  learnLost,
  type LinkCosts,
  type KeepaliveBounds,
  type IdleEstimate,
  nextKeepaliveMs,
  INITIAL_ESTIMATE,
} from "../core/link/keepalive-learning.ts";

/** Provides the keep-alive interval and learns from its results. */
export interface KeepaliveInterval {
  /** Returns the silence after which the link is probed, in milliseconds. */
  currentMs(): number;
  /** Called when data arrives after a silence. */
  onSurvived(silenceMs: number): void;
  /** Called when a probe after a silence is not answered. */
  onLost(silenceMs: number): void;
  /** Called when the connection was closed in a silence, by neither this side nor the service. */
  onClosed(silenceMs: number): void;
  /** Called when a new session is open. */
  onSessionOpened(): void;
  /** Called with what was measured, in bytes with all headers. */
  onCost(measured: Partial<Pick<LinkCosts, "keepaliveBytes" | "reconnectBytes">>): void;
}

/** A fixed interval. */
export function fixedInterval(intervalMs: number): KeepaliveInterval {
  return {
    currentMs: () => intervalMs,
    onSurvived: () => undefined,
    onLost: () => undefined,
    onClosed: () => undefined,
    onSessionOpened: () => undefined,
    onCost: () => undefined,
  };
}

export interface LearnedIntervalOptions {
  readonly bounds: KeepaliveBounds;
  readonly store: LearnedStore;
  /** Id of the current network, the key of what was learned. */
  readonly network: () => string;
  /** What keep-alives may cost in a day on the current network; `undefined`: no limit. Default: none. */
  readonly maxBytesPerDay?: () => number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Maximum time until the device is linked again after a loss that counts as an idle timeout, in milliseconds. After a
 * longer time the network itself may have been down. Longer than the delay before a reconnect that a fleet spreads over.
 */
const MAX_RELINK_MS = 60_000;

/** Shorter silences are ignored, in milliseconds: no network drops a connection that soon. */
const MIN_SILENCE_MS = 10_000;

const knowledgeSchema = z.object({
  heldMs: z.number().min(0),
  lostMs: z
    .number()
    .positive()
    .optional()
    .transform((ms) => ms),
  survived: z.int().min(0),
  closes: z.int().min(0).default(0),
  closedMs: z
    .number()
    .positive()
    .optional()
    .transform((ms) => ms),
  heldSinceCloseMs: z.number().min(0).default(0),
  isByClose: z.boolean().default(false),
  futile: z.int().min(0).default(0),
  ignoresCloses: z.boolean().default(false),
});

/** Learns and stores how long each network keeps an idle connection. */
export class LearnedInterval implements KeepaliveInterval {
  readonly #options: LearnedIntervalOptions;
  #current: { readonly network: string; readonly known: IdleEstimate } | undefined;
  #loss:
    | { readonly network: string; readonly silenceMs: number; readonly at: number; readonly isClose: boolean }
    | undefined;
  /** Until they are measured. */
  #costs = { keepaliveBytes: 270, reconnectBytes: 5_000 };

  constructor(options: LearnedIntervalOptions) {
    this.#options = options;
  }

  currentMs(): number {
    return this.#nextMs(this.#known(this.#options.network()));
  }

  onSurvived(silenceMs: number): void {
    if (silenceMs < MIN_SILENCE_MS) return;
    const network = this.#options.network();
    // Longer silences than the maximum interval are of no use.
    const silence = Math.min(silenceMs, this.#options.bounds.maxMs);
    this.#update(network, learnSurvived(this.#known(network), silence));
  }

  onLost(silenceMs: number): void {
    this.#lose(silenceMs, false);
  }

  onClosed(silenceMs: number): void {
    this.#lose(silenceMs, true);
  }

  onCost(measured: Partial<Pick<LinkCosts, "keepaliveBytes" | "reconnectBytes">>): void {
    this.#costs = { ...this.#costs, ...measured };
  }

  onSessionOpened(): void {
    const { network, clock, logger } = this.#options;
    const loss = this.#loss;
    this.#loss = undefined;
    // On another network, or after an outage, the silence was not the cause.
    if (!loss || loss.network !== network() || clock.monotonic() - loss.at > MAX_RELINK_MS) return;
    const before = this.#known(loss.network);
    const known = (loss.isClose ? learnClosed : learnLost)(before, loss.silenceMs);
    this.#update(loss.network, known);
    if (known.ignoresCloses && !before.ignoresCloses)
      logger.info(
        { network: loss.network },
        "connections are closed on this network whatever the keep-alive interval is",
      );
    if (known.lostMs === undefined || (loss.isClose && known.lostMs === before.lostMs)) return;
    const keepaliveMs = this.#nextMs(known);
    const { keepaliveBytes, reconnectBytes } = this.#costs;
    logger.info(
      {
        network: loss.network,
        lost_after_s: seconds(loss.silenceMs),
        keepalive_s: seconds(keepaliveMs),
        keepalives_bytes_per_day: Math.round(bytesPerDay(keepaliveBytes, keepaliveMs)),
        reconnects_bytes_per_day: Math.round(bytesPerDay(reconnectBytes, known.lostMs)),
      },
      keepaliveMs < known.lostMs
        ? "this network drops idle connections: the keep-alive interval is reduced"
        : "this network drops idle connections; keep-alives that prevent it would cost more than reconnects, or than the data budget allows",
    );
  }

  #lose(silenceMs: number, isClose: boolean): void {
    if (silenceMs < MIN_SILENCE_MS) return;
    this.#loss = { network: this.#options.network(), silenceMs, at: this.#options.clock.monotonic(), isClose };
  }

  #nextMs(known: IdleEstimate): number {
    const { bounds, maxBytesPerDay } = this.#options;
    return nextKeepaliveMs(known, bounds, { ...this.#costs, maxBytesPerDay: maxBytesPerDay?.() });
  }

  #known(network: string): IdleEstimate {
    if (this.#current?.network !== network) this.#current = { network, known: this.#load(network) };
    return this.#current.known;
  }

  #update(network: string, known: IdleEstimate): void {
    const before = this.#known(network);
    this.#current = { network, known };
    // A changed count alone is not written.
    const isSame = before.ignoresCloses === known.ignoresCloses && before.isByClose === known.isByClose;
    if (isSame && before.heldMs === known.heldMs && before.lostMs === known.lostMs) return;
    try {
      this.#options.store.saveLearnedValue(
        keyOf(network),
        JSON.stringify({ ...known, survived: 0, heldSinceCloseMs: 0 }),
      );
    } catch (error) {
      this.#options.logger.debug({ err: error }, "the learned keep-alive interval cannot be stored");
    }
  }

  #load(network: string): IdleEstimate {
    try {
      const text = this.#options.store.learnedValue(keyOf(network));
      return text === undefined ? INITIAL_ESTIMATE : knowledgeSchema.parse(JSON.parse(text));
    } catch {
      return INITIAL_ESTIMATE;
    }
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}

function keyOf(network: string): string {
  return `idle ${network}`.slice(0, 200);
}
