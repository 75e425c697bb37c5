import type { Clock } from "../../lib/clock.ts";
import type { AuditEntry } from "../store/audit.ts";
import type { Store } from "../store/store.ts";
import type { Channels } from "./channels/channels.ts";
import { testMessage } from "./message.ts";

/** Tests of channels of one account in an hour. */
export const MAX_CHANNEL_TESTS_PER_HOUR = 30;

export interface ChannelTestOptions {
  readonly store: Pick<Store, "alertSettings" | "audit">;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly accountId: string;
  readonly name: string;
  readonly audit: AuditEntry;
  readonly signal: AbortSignal;
}

export interface ChannelTestResult {
  readonly delivered: boolean;
  /** What the other side answered, on one line. */
  readonly answer: string;
}

/**
 * Sends a message to a channel. One that was given up is used again if it arrives. Returns `undefined` if there is no such channel;
 * rejects only with the signal's reason, and errors of the store.
 */
export async function testChannel(options: ChannelTestOptions): Promise<ChannelTestResult | undefined> {
  const { store, channels, clock, accountId, name, audit, signal } = options;
  const channel = await store.alertSettings.findChannel(accountId, name);
  if (!channel) return undefined;
  const nowMs = Math.floor(clock.now());
  const { kind, answer } = await channels.send(
    channel,
    testMessage(accountId, name, nowMs),
    `msg_test_${nowMs}`,
    signal,
  );
  const delivered = kind === "delivered";
  const entry = { ...audit, details: { delivered, answer } };
  if (!delivered || channel.disabledAtMs === undefined) {
    await store.audit.addEntry(entry);
    return { delivered, answer };
  }
  await store.alertSettings.change(accountId, (current) => ({
    ...current,
    // Stored again, it is in use. Not one that was set anew meanwhile.
    channels: current.channels.map((each) =>
      each.name === name && each.changedAtMs === channel.changedAtMs ? { ...each } : each,
    ),
    audit: entry,
  }));
  return { delivered, answer };
}
