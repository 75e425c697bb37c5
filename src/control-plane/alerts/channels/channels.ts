import { type Clock, deadline } from "../../../lib/clock.ts";
import { type AlertChannelConfig, alertChannelConfigSchema } from "../../../protocol/alerts/channel.ts";
import type { DeliveryAnswer } from "../../core/alerts/delivery.ts";
import { channelPurpose, type Seal, type Sealer } from "../../sealing/sealer.ts";
import type { StoredChannel } from "../../store/alerts.ts";
import type { AlertMessage } from "../message.ts";
import { formatMessage } from "./formats.ts";
import type { Mailer } from "./mail.ts";
import type { Poster } from "./post.ts";

/** For all of an attempt: much less than the time for which a message is claimed. */
export const SEND_TIMEOUT_MS = 15_000;

export interface ChannelsOptions {
  readonly sealer: Pick<Sealer, "open">;
  readonly poster: Poster;
  readonly mailer: Mailer;
  readonly clock: Clock;
}

/** Sends messages to channels of every kind. */
export class Channels {
  readonly #options: ChannelsOptions;

  constructor(options: ChannelsOptions) {
    this.#options = options;
  }

  /** Returns why nothing would be sent to the address, for people; `undefined` if it would be. Looks up no name. */
  explainRefusal(url: URL): string | undefined {
    return this.#options.poster.explainRefusal(url);
  }

  /** Rejects only with the signal's reason. */
  async send(channel: StoredChannel, message: AlertMessage, id: string, signal: AbortSignal): Promise<DeliveryAnswer> {
    const { sealer, poster, mailer, clock } = this.#options;
    let config: AlertChannelConfig;
    try {
      config = openChannel(sealer, channel);
    } catch {
      return { kind: "failed", answer: "The secrets of the channel cannot be opened: store it again." };
    }
    using limit = deadline(clock, SEND_TIMEOUT_MS, signal);
    const answer =
      config.kind === "email"
        ? await mailer.send(config.to, message, id, limit.signal)
        : await poster.post(formatMessage(config, message, id, clock.timeOfDay()), limit.signal);
    signal.throwIfAborted();
    return answer;
  }
}

/** Returns what a channel is used with. Throws if it cannot be opened. */
export function openChannel(sealer: Pick<Sealer, "open">, channel: StoredChannel): AlertChannelConfig {
  const text = Buffer.from(sealer.open(channel, channelPurpose(channel.accountId, channel.name))).toString("utf8");
  return alertChannelConfigSchema.parse(JSON.parse(text));
}

/** Returns the channel as it is stored. */
export function sealChannel(
  seal: Seal,
  accountId: string,
  name: string,
  config: AlertChannelConfig,
  nowMs: number,
): StoredChannel {
  return {
    accountId,
    name,
    kind: config.kind,
    shown: config.kind === "email" ? { to: config.to } : { address: new URL(config.url).host },
    changedAtMs: nowMs,
    failingSinceMs: undefined,
    disabledAtMs: undefined,
    ...seal(Buffer.from(JSON.stringify(config)), channelPurpose(accountId, name)),
  };
}
