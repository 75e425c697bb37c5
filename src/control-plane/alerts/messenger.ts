import { type Clock, pause } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { afterAttempt, type DeliveryAnswer } from "../core/alerts/delivery.ts";
import { channelKey, type AlertDelivery } from "../store/alerts.ts";
import type { Store } from "../store/store.ts";
import { logStoreError } from "../store/unavailable.ts";
import type { Channels } from "./channels/channels.ts";
import type { AlertMessage } from "./message.ts";

/** An instance that dies leaves what it has claimed to another one after this time. */
const CLAIM_MS = 60_000;
/** Pause between two looks for messages that are to be sent again, or that another instance has left. */
const LOOK_INTERVAL_MS = 5_000;
/** Messages that are being sent at a time, one of each channel. */
export const MAX_SENDING = 64;

export interface MessengerOptions {
  readonly store: Pick<Store, "alertOutbox" | "alertSettings">;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly instanceId: string;
  /** Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/**
 * Sends what is in the outbox, at every instance. One message of a channel is under way at a time, so that a channel that hangs
 * delays no other one. What was sent and is not on record as such, since the process was killed, is sent again with the same id.
 */
export class Messenger implements AsyncDisposable {
  readonly #options: MessengerOptions;
  readonly #stopping = new AbortController();
  readonly #sending = new Map<string, Promise<void>>();
  readonly #running: Promise<void>;
  #idle = new AbortController();

  constructor(options: MessengerOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await Promise.all(this.#sending.values());
  }

  /** Looks for messages at once. */
  wake(): void {
    this.#idle.abort();
  }

  async #run(): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#idle = new AbortController();
      try {
        await this.#claim();
      } catch (error) {
        if (!signal.aborted) logStoreError(logger, error, {}, "cannot look for messages of alerts; trying again");
      }
      await pause(clock, LOOK_INTERVAL_MS, AbortSignal.any([signal, this.#idle.signal]));
    }
  }

  async #claim(): Promise<void> {
    const { store, clock, instanceId } = this.#options;
    const room = MAX_SENDING - this.#sending.size;
    if (room <= 0) return;
    const nowMs = Math.floor(clock.now());
    const busy = [...this.#sending.keys()];
    const claimed = await store.alertOutbox.claim(instanceId, nowMs, nowMs + CLAIM_MS, room, busy);
    for (const delivery of claimed) {
      const key = channelKey(delivery);
      const sending = this.#deliver(delivery).finally(() => {
        this.#sending.delete(key);
        // There may be another message for the channel.
        this.wake();
      });
      this.#sending.set(key, sending);
    }
  }

  async #deliver(delivery: AlertDelivery): Promise<void> {
    const { store, channels, clock, logger, instanceId, random = Math.random } = this.#options;
    const { accountId, channel: name, messageId, createdAtMs, attempts } = delivery;
    const about = { account_id: accountId, channel: name, message_id: messageId };
    try {
      const channel = await store.alertSettings.findChannel(accountId, name);
      if (!channel) return;
      const message = JSON.parse(delivery.message) as AlertMessage;
      const answer: DeliveryAnswer = await channels.send(channel, message, messageId, this.#stopping.signal);
      const nowMs = Math.floor(clock.now());
      const attempted = { createdAtMs, attempts, failingSinceMs: channel.failingSinceMs };
      const step = afterAttempt(answer, attempted, nowMs, random());
      await store.alertOutbox.finish(delivery, instanceId, step, answer.answer, nowMs);
      if (step.disables)
        logger.warn(about, "a channel of alerts is disabled: its messages failed for days, or it is gone");
      else if (answer.kind !== "delivered")
        logger.debug({ ...about, answer: answer.answer }, "a message was not delivered");
    } catch (error) {
      if (!this.#stopping.signal.aborted) logStoreError(logger, error, about, "cannot record what became of a message");
    }
  }
}
