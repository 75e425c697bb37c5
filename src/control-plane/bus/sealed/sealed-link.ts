import { randomBytes } from "node:crypto";
import type { Clock } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { type LinkState, MAX_MESSAGE_BYTES, type MessageLink } from "../message-link.ts";
import {
  deriveSenderKey,
  open,
  readHeader,
  seal,
  type SealHeader,
  SENDER_BYTES,
  type BusKey,
  type SharedKeys,
} from "./message-seal.ts";
import { ReplayWindow } from "./replay-window.ts";

/** A message that is older, or from the future by more, is refused. */
export const MAX_AGE_MS = 30_000;
/** Senders that are known at a time. */
export const MAX_SENDERS = 1_000;
/** Keys that are derived for unknown senders each second: anyone on the bus can invent one. */
export const MAX_NEW_SENDERS_PER_SECOND = 100;
const SECOND_MS = 1_000;
const LOG_INTERVAL_MS = 60_000;

/**
 * Why a message was refused. `malformed`: it is not sealed. `unknown_key`: with a key that is not known here. `stale`: too old, from
 * the future, or sent before this instance started. `repeated`: it has arrived before. `forged`: it was changed, or sealed by
 * others, or for another subject. `too_many_senders`: nothing is known of its sender, and of too many others.
 */
export const REFUSALS = ["malformed", "unknown_key", "stale", "repeated", "forged", "too_many_senders"] as const;
export type Refusal = (typeof REFUSALS)[number];

/** What is known of a sender of which a message was opened. */
interface Sender {
  readonly arrived: ReplayWindow;
  keyId: string;
  key: Uint8Array;
  /** The latest time of its messages. */
  timeMs: number;
}

export interface SealedLinkOptions {
  readonly link: MessageLink;
  readonly keys: SharedKeys;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Seals the messages between instances. What carries them can lose and delay them, for half a minute at most, and nothing else: not
 * read, change, invent or repeat one.
 */
export class SealedLink implements MessageLink, Disposable {
  /** Called for each message that is refused. */
  onRefused: (reason: Refusal) => void = () => {};
  readonly #options: SealedLinkOptions;
  readonly #own = randomBytes(SENDER_BYTES).toString("hex");
  #ownKey: BusKey | undefined;
  readonly #senders = new Map<string, Sender>();
  readonly #refused = new Map<Refusal, number>();
  #counter = 0;
  #newSenders = 0;
  #newSendersSince = -Infinity;
  #logging: Disposable | undefined;

  constructor(options: SealedLinkOptions) {
    this.#options = options;
  }

  get state(): LinkState {
    return this.#options.link.state;
  }

  send(subject: string, message: Uint8Array): boolean {
    const { link, keys } = this.#options;
    const { current } = keys;
    if (!current || link.state === "down") return false;
    if (this.#ownKey?.id !== current.id) {
      this.#ownKey = { id: current.id, secret: deriveSenderKey(current.secret, this.#own) };
    }
    const header = { keyId: current.id, sender: this.#own, timeMs: keys.nowMs, counter: this.#counter++ };
    return link.send(subject, seal(this.#ownKey.secret, header, subject, message));
  }

  listen(subject: string, listener: (message: Uint8Array) => void): Disposable {
    return this.#options.link.listen(subject, (sealed) => {
      const message = this.#open(subject, sealed);
      if (typeof message !== "string") return listener(message);
      this.#refuse(message);
    });
  }

  onChange(listener: (state: LinkState) => void): Disposable {
    return this.#options.link.onChange(listener);
  }

  [Symbol.dispose](): void {
    this.#logging?.[Symbol.dispose]();
  }

  /** Checks the cheapest first: anyone on the bus can have it done as often as the bus carries messages. */
  #open(subject: string, sealed: Uint8Array): Uint8Array | Refusal {
    const { nowMs, startedAtMs } = this.#options.keys;
    const header = sealed.length <= MAX_MESSAGE_BYTES ? readHeader(sealed) : undefined;
    if (!header) return "malformed";
    const { timeMs, counter } = header;
    if (timeMs < startedAtMs || Math.abs(nowMs - timeMs) > MAX_AGE_MS) return "stale";
    const known = this.#senders.get(header.sender);
    if (known && !known.arrived.isNew(counter)) return "repeated";
    const key = this.#keyOf(header, known);
    if (typeof key === "string") return key;
    const message = open(key, subject, sealed);
    if (!message) return "forged";
    const sender = known ?? { arrived: new ReplayWindow(), keyId: header.keyId, key, timeMs };
    if (!known) this.#senders.set(header.sender, sender);
    sender.arrived.add(counter);
    sender.timeMs = Math.max(sender.timeMs, timeMs);
    sender.keyId = header.keyId;
    sender.key = key;
    return message;
  }

  /** Returns the sender's key. Nothing is kept for a sender before one of its messages was opened. */
  #keyOf({ keyId, sender }: SealHeader, known: Sender | undefined): Uint8Array | Refusal {
    if (known?.keyId === keyId) return known.key;
    const shared = this.#options.keys.find(keyId);
    if (!shared) return "unknown_key";
    return this.#mayDerive(known !== undefined) ? deriveSenderKey(shared.secret, sender) : "too_many_senders";
  }

  #mayDerive(isKnown: boolean): boolean {
    const now = this.#options.clock.monotonic();
    if (now - this.#newSendersSince >= SECOND_MS) {
      this.#newSendersSince = now;
      this.#newSenders = 0;
    }
    if (this.#newSenders++ >= MAX_NEW_SENDERS_PER_SECOND) return false;
    if (isKnown || this.#senders.size < MAX_SENDERS) return true;
    // Of these every message that could be repeated is too old.
    const forgottenBefore = this.#options.keys.nowMs - MAX_AGE_MS;
    for (const [id, { timeMs }] of this.#senders) if (timeMs < forgottenBefore) this.#senders.delete(id);
    return this.#senders.size < MAX_SENDERS;
  }

  #refuse(reason: Refusal): void {
    this.onRefused(reason);
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
    this.#logging ??= this.#options.clock.timer(LOG_INTERVAL_MS, () => {
      this.#logging = undefined;
      this.#options.logger.warn(
        Object.fromEntries(this.#refused),
        "messages on the bus were refused: another program uses its subjects, or an instance has another database or key file",
      );
      this.#refused.clear();
    });
  }
}
