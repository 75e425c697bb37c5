import type { ChannelMessage } from "./message.ts";
import { PartReceiver } from "./part-receiver.ts";
import { PartSender } from "./part-sender.ts";

/** An end that has sent nothing for this long says that it is there. */
export const KEEP_ALIVE_MS = 10_000;
/** An end that was silent for this long is gone. */
export const MAX_SILENCE_MS = 30_000;
/** Time after which the first part is sent again, since the other end may have subscribed just now. */
export const OPEN_AGAIN_MS = 1_000;
/** Time until the first sign of the other end. */
export const OPEN_TIMEOUT_MS = 3_000;
/** Time for a missing part to arrive after a later one. Only the first part is sent again. */
export const MISSING_PART_TIMEOUT_MS = 2_000;

/**
 * What the caller of a channel must do. Nothing follows `ended`, `failed` and `finished`. After `deliver` it calls `taken`
 * once the reader has taken the body.
 */
export type ChannelEffect =
  | { readonly type: "send"; readonly message: ChannelMessage }
  | { readonly type: "deliver"; readonly body: Uint8Array }
  /** The other end has sent its last body, which is this one. */
  | { readonly type: "ended"; readonly body: Uint8Array }
  /** The last body of this end is sent. */
  | { readonly type: "finished" }
  | { readonly type: "failed"; readonly reason: ChannelFailureReason };

export type ChannelFailureReason = "reset" | "silent" | "lost part" | "bad message" | "too slow";

const NONE = new Uint8Array();

/**
 * One end of a channel between two instances: bodies in both directions, each once and in order, or a failure. Messages may be
 * lost, late, repeated and reordered. Pure: time and messages come in, effects go out.
 */
export class Channel {
  readonly #sender = new PartSender();
  readonly #receiver = new PartReceiver();
  readonly #openedAt: number;
  /** The first part, until the other end is heard. */
  #opening: ChannelEffect | undefined;
  #heardAt: number | undefined;
  #sentAt: number;
  /** The first part that is missing, and since when. */
  #missing: { readonly part: number; readonly since: number } | undefined;
  #isDelivering = false;
  #isOver = false;

  constructor(now: number) {
    this.#openedAt = now;
    this.#sentAt = now;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sends a body. @param isEnd whether it is the last one, with which the channel ends */
  send(body: Uint8Array, isEnd: boolean, now: number): ChannelEffect[] {
    if (this.#isOver || this.#sender.hasEnded) return [];
    return this.#sender.push(body, isEnd) ? this.#sendParts(now) : this.#fail("too slow", now);
  }

  /** Ends the channel at once, whatever waits. */
  reset(now: number): ChannelEffect[] {
    if (this.#isOver) return [];
    this.#isOver = true;
    return [this.#message("reset", now)];
  }

  receive(message: ChannelMessage, now: number): ChannelEffect[] {
    if (this.#isOver) return [];
    if (message.kind === "reset") {
      // The reader has not taken all of it yet.
      if (this.#receiver.isComplete) return [];
      this.#isOver = true;
      return [{ type: "failed", reason: "reset" }];
    }
    this.#heardAt = now;
    this.#opening = undefined;
    if (!this.#sender.confirm(message.taken)) return this.#fail("bad message", now);
    const effects = this.#sendParts(now);
    if (this.#isOver) return effects;
    if (message.kind === "part") {
      const result = this.#receiver.add(message);
      if (result === "bad") return [...effects, ...this.#fail("bad message", now)];
      // The receipt may have been lost.
      if (result === "repeated") effects.push(this.#message("receipt", now));
    } else if (!this.#receiver.announce(message.number)) return [...effects, ...this.#fail("bad message", now)];
    const part = this.#receiver.missing;
    if (part !== this.#missing?.part) this.#missing = part === undefined ? undefined : { part, since: now };
    return [...effects, ...this.#deliver()];
  }

  /** The reader has taken the body of the last `deliver`. */
  taken(now: number): ChannelEffect[] {
    if (this.#isOver || !this.#isDelivering) return [];
    this.#isDelivering = false;
    const effects: ChannelEffect[] = this.#receiver.take() ? [this.#message("receipt", now)] : [];
    return [...effects, ...this.#deliver()];
  }

  /** To be called every second or so. */
  tick(now: number): ChannelEffect[] {
    if (this.#isOver || this.#receiver.isComplete) return [];
    const limit = this.#heardAt === undefined ? this.#openedAt + OPEN_TIMEOUT_MS : this.#heardAt + MAX_SILENCE_MS;
    if (now >= limit) return this.#fail("silent", now);
    if (this.#missing && now - this.#missing.since >= MISSING_PART_TIMEOUT_MS) return this.#fail("lost part", now);
    if (this.#opening && now - this.#sentAt >= OPEN_AGAIN_MS) {
      this.#sentAt = now;
      return [this.#opening];
    }
    return now - this.#sentAt >= KEEP_ALIVE_MS ? [this.#message("alive", now)] : [];
  }

  #deliver(): ChannelEffect[] {
    if (this.#isDelivering) return [];
    const next = this.#receiver.next();
    if (!next) return [];
    if (next.isChannelEnd) {
      this.#isOver = true;
      return [{ type: "ended", body: next.body }];
    }
    this.#isDelivering = true;
    return [{ type: "deliver", body: next.body }];
  }

  #sendParts(now: number): ChannelEffect[] {
    const effects: ChannelEffect[] = [];
    for (let part = this.#sender.next(); part; part = this.#sender.next()) {
      this.#sentAt = now;
      const effect: ChannelEffect = {
        type: "send",
        message: { kind: "part", taken: this.#receiver.reportTaken(), ...part },
      };
      if (this.#heardAt === undefined) this.#opening ??= effect;
      effects.push(effect);
    }
    if (!this.#sender.isFinished) return effects;
    this.#isOver = true;
    return [...effects, { type: "finished" }];
  }

  #fail(reason: ChannelFailureReason, now: number): ChannelEffect[] {
    const effects = this.reset(now);
    return [...effects, { type: "failed", reason }];
  }

  #message(kind: "receipt" | "alive" | "reset", now: number): ChannelEffect {
    this.#sentAt = now;
    const taken = this.#receiver.reportTaken();
    const number = this.#sender.sent;
    return { type: "send", message: { kind, number, taken, isBodyEnd: false, isChannelEnd: false, bytes: NONE } };
  }
}
