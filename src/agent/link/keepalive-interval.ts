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

/** How long the link may be silent, and what came of it. */
export interface KeepaliveInterval {
  /** Silence after which the link is probed now, in milliseconds. */
  currentMs(): number;
  /** Something arrived after so much silence. */
  onSurvived(silenceMs: number): void;
  /** A probe after so much silence was not answered. */
  onLost(silenceMs: number): void;
  /** A new session stands. */
  onSessionOpened(): void;
}

/** The same pause whatever happens. */
export function fixedInterval(pauseMs: number): KeepaliveInterval {
  return {
    currentMs: () => pauseMs,
    onSurvived: () => undefined,
    onLost: () => undefined,
    onSessionOpened: () => undefined,
  };
}

export interface LearnedIntervalOptions {
  readonly bounds: KeepaliveBounds;
  readonly store: LearnedStore;
  /** Name of the network the device is in, to remember it by. */
  readonly network: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * A device that is linked again within this time had its network all along: it was the connection that was forgotten.
 * In milliseconds; a shared pause before the next attempt is within.
 */
const MAX_RELINK_MS = 60_000;

/** Shorter silences teach nothing, in milliseconds: no network forgets that soon. */
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

/** Learns how long each network keeps an idle connection, and remembers it. */
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
    // More than is ever paused says nothing that would be used.
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
    // On another network, or after an outage, the silence was not what ended it.
    if (!loss || loss.network !== network() || clock.monotonic() - loss.at > MAX_RELINK_MS) return;
    const known = learnLost(this.#known(loss.network), loss.silenceMs);
    this.#update(loss.network, known);
    logger.info(
      {
        network: loss.network,
        lost_after_s: seconds(loss.silenceMs),
        keepalive_s: seconds(nextKeepaliveMs(known, bounds)),
      },
      "this network forgets idle connections: keep-alives come sooner",
    );
  }

  #known(network: string): IdleEstimate {
    if (this.#current?.network !== network) this.#current = { network, known: this.#recall(network) };
    return this.#current.known;
  }

  #update(network: string, known: IdleEstimate): void {
    const before = this.#known(network);
    this.#current = { network, known };
    // Counting alone is not worth a write.
    if (before.heldMs === known.heldMs && before.lostMs === known.lostMs) return;
    try {
      this.#options.store.saveLearnedValue(nameOf(network), JSON.stringify({ ...known, survived: 0 }));
    } catch (error) {
      this.#options.logger.debug({ err: error }, "what was learned of the network cannot be remembered");
    }
  }

  #recall(network: string): IdleEstimate {
    try {
      const text = this.#options.store.learnedValue(nameOf(network));
      return text === undefined ? INITIAL_ESTIMATE : knowledgeSchema.parse(JSON.parse(text));
    } catch {
      return INITIAL_ESTIMATE;
    }
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}

function nameOf(network: string): string {
  return `idle ${network}`.slice(0, 200);
}
