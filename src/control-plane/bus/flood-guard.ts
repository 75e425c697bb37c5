import type { Clock } from "../../lib/clock.ts";

const WINDOW_MS = 1_000;

/** Wake-ups from other instances within a second, of which each may read the store: of one topic, and of all together. */
export const MAX_WAKES_PER_TOPIC = 50;
export const MAX_WAKES = 10_000;

export interface FloodGuardOptions {
  readonly clock: Clock;
  /** Called for each message of which something was left out. */
  readonly onLeftOut: () => void;
  /** Called at the end of a second in which something was left out: anything may be meant. */
  readonly onOver: () => void;
}

/** Bounds the work that messages of others cause. What is beyond is left out, and made up for once a second. */
export class FloodGuard implements Disposable {
  readonly #options: FloodGuardOptions;
  readonly #byTopic = new Map<string, number>();
  #count = 0;
  #endsAt = 0;
  #over: Disposable | undefined;

  constructor(options: FloodGuardOptions) {
    this.#options = options;
  }

  /** Whether there is room for a wake-up of any topic. */
  get hasRoom(): boolean {
    const now = this.#options.clock.monotonic();
    if (now >= this.#endsAt) {
      this.#endsAt = now + WINDOW_MS;
      this.#count = 0;
      this.#byTopic.clear();
    }
    return this.#count < MAX_WAKES;
  }

  /** Takes room for one wake-up. Returns false if there is none in this second. */
  take(topic: string): boolean {
    if (!this.hasRoom) return false;
    const ofTopic = this.#byTopic.get(topic) ?? 0;
    if (ofTopic >= MAX_WAKES_PER_TOPIC) return false;
    this.#count++;
    this.#byTopic.set(topic, ofTopic + 1);
    return true;
  }

  /** To be called for a message of which `take` has refused something. */
  leaveOut(): void {
    const { clock, onLeftOut, onOver } = this.#options;
    onLeftOut();
    this.#over ??= clock.timer(Math.max(0, this.#endsAt - clock.monotonic()), () => {
      this.#over = undefined;
      onOver();
    });
  }

  [Symbol.dispose](): void {
    this.#over?.[Symbol.dispose]();
  }
}
