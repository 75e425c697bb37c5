import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import {
  afterHeld,
  afterLost,
  type IdleBounds,
  type IdleKnowledge,
  nextPause,
  NOTHING_KNOWN,
} from "../core/idle-learning.ts";

/** How long the link may be silent, and what came of it. */
export interface Idle {
  /** Silence after which the link is probed now, in milliseconds. */
  pauseMs(): number;
  /** Something arrived after so much silence. */
  held(silenceMs: number): void;
  /** A probe after so much silence was not answered. */
  lost(silenceMs: number): void;
  /** A new session stands. */
  linked(): void;
}

/** The same pause whatever happens. */
export function fixedIdle(pauseMs: number): Idle {
  return { pauseMs: () => pauseMs, held: () => undefined, lost: () => undefined, linked: () => undefined };
}

/** What is remembered from one run of the agent to the next. */
export interface Memory {
  learned(name: string): string | undefined;
  learn(name: string, value: string): void;
}

export interface LearnedIdleOptions {
  readonly bounds: IdleBounds;
  readonly memory: Memory;
  /** Name of the network the device is in, to remember it by. */
  readonly network: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * A device that is linked again within this time had its network all along: it was the connection that was forgotten.
 * In milliseconds; a shared pause before the next attempt is within.
 */
const NETWORK_WAS_THERE_MS = 60_000;

/** Shorter silences teach nothing, in milliseconds: no network forgets that soon. */
const SHORTEST_LESSON_MS = 10_000;

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
export class LearnedIdle implements Idle {
  readonly #options: LearnedIdleOptions;
  #current: { readonly network: string; readonly known: IdleKnowledge } | undefined;
  #loss: { readonly network: string; readonly silenceMs: number; readonly at: number } | undefined;

  constructor(options: LearnedIdleOptions) {
    this.#options = options;
  }

  pauseMs(): number {
    return nextPause(this.#known(this.#options.network()), this.#options.bounds);
  }

  held(silenceMs: number): void {
    if (silenceMs < SHORTEST_LESSON_MS) return;
    const network = this.#options.network();
    // More than is ever paused says nothing that would be used.
    const silence = Math.min(silenceMs, this.#options.bounds.maxMs);
    this.#update(network, afterHeld(this.#known(network), silence));
  }

  lost(silenceMs: number): void {
    if (silenceMs < SHORTEST_LESSON_MS) return;
    this.#loss = { network: this.#options.network(), silenceMs, at: this.#options.clock.monotonic() };
  }

  linked(): void {
    const { network, clock, bounds, logger } = this.#options;
    const loss = this.#loss;
    this.#loss = undefined;
    // On another network, or after an outage, the silence was not what ended it.
    if (!loss || loss.network !== network() || clock.monotonic() - loss.at > NETWORK_WAS_THERE_MS) return;
    const known = afterLost(this.#known(loss.network), loss.silenceMs);
    this.#update(loss.network, known);
    logger.info(
      { network: loss.network, lost_after_s: seconds(loss.silenceMs), keepalive_s: seconds(nextPause(known, bounds)) },
      "this network forgets idle connections: keep-alives come sooner",
    );
  }

  #known(network: string): IdleKnowledge {
    if (this.#current?.network !== network) this.#current = { network, known: this.#recall(network) };
    return this.#current.known;
  }

  #update(network: string, known: IdleKnowledge): void {
    const before = this.#known(network);
    this.#current = { network, known };
    // Counting alone is not worth a write.
    if (before.heldMs === known.heldMs && before.lostMs === known.lostMs) return;
    try {
      this.#options.memory.learn(nameOf(network), JSON.stringify({ ...known, survived: 0 }));
    } catch (error) {
      this.#options.logger.debug({ err: error }, "what was learned of the network cannot be remembered");
    }
  }

  #recall(network: string): IdleKnowledge {
    try {
      const text = this.#options.memory.learned(nameOf(network));
      return text === undefined ? NOTHING_KNOWN : knowledgeSchema.parse(JSON.parse(text));
    } catch {
      return NOTHING_KNOWN;
    }
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}

function nameOf(network: string): string {
  return `idle ${network}`.slice(0, 200);
}
