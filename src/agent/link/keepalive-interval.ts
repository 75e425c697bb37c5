import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { LearnedStore } from "../store/store.ts";
import {
  learnSurvived,
  learnLost,
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
  /** Called when a new session is open. */
  onSessionOpened(): void;
}

/** A fixed interval. */
export function fixedInterval(intervalMs: number): KeepaliveInterval {
  return {
    currentMs: () => intervalMs,
    onSurvived: () => undefined,
    onLost: () => undefined,
    onSessionOpened: () => undefined,
  };
}

export interface LearnedIntervalOptions {
  readonly bounds: KeepaliveBounds;
  readonly store: LearnedStore;
  /** Id of the current network, the key of what was learned. */
  readonly network: () => string;
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
});

/** Learns and stores how long each network keeps an idle connection. */
export class LearnedInterval implements KeepaliveInterval {
  readonly #options: LearnedIntervalOptions;
  #current: { readonly network: string; readonly known: IdleEstimate } | undefined;
  #loss: { readonly network: string; readonly silenceMs: number; readonly at: number } | undefined;

  constructor(options: LearnedIntervalOptions) {
    this.#options = options;
  }

  currentMs(): number {
    return nextKeepaliveMs(this.#known(this.#options.network()), this.#options.bounds);
  }

  onSurvived(silenceMs: number): void {
    if (silenceMs < MIN_SILENCE_MS) return;
    const network = this.#options.network();
    // Longer silences than the maximum interval are of no use.
    const silence = Math.min(silenceMs, this.#options.bounds.maxMs);
    this.#update(network, learnSurvived(this.#known(network), silence));
  }

  onLost(silenceMs: number): void {
    if (silenceMs < MIN_SILENCE_MS) return;
    this.#loss = { network: this.#options.network(), silenceMs, at: this.#options.clock.monotonic() };
  }

  onSessionOpened(): void {
    const { network, clock, bounds, logger } = this.#options;
    const loss = this.#loss;
    this.#loss = undefined;
    // On another network, or after an outage, the silence was not the cause.
    if (!loss || loss.network !== network() || clock.monotonic() - loss.at > MAX_RELINK_MS) return;
    const known = learnLost(this.#known(loss.network), loss.silenceMs);
    this.#update(loss.network, known);
    logger.info(
      {
        network: loss.network,
        lost_after_s: seconds(loss.silenceMs),
        keepalive_s: seconds(nextKeepaliveMs(known, bounds)),
      },
      "this network drops idle connections: the keep-alive interval is reduced",
    );
  }

  #known(network: string): IdleEstimate {
    if (this.#current?.network !== network) this.#current = { network, known: this.#load(network) };
    return this.#current.known;
  }

  #update(network: string, known: IdleEstimate): void {
    const before = this.#known(network);
    this.#current = { network, known };
    // A changed count alone is not written.
    if (before.heldMs === known.heldMs && before.lostMs === known.lostMs) return;
    try {
      this.#options.store.saveLearnedValue(keyOf(network), JSON.stringify({ ...known, survived: 0 }));
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
