import { AlertWatcher } from "../../../src/control-plane/alerts/alert-watcher.ts";
import type { Channels } from "../../../src/control-plane/alerts/channels/channels.ts";
import type { AlertMessage } from "../../../src/control-plane/alerts/message.ts";
import { Messenger } from "../../../src/control-plane/alerts/messenger.ts";
import type { DeliveryAnswer } from "../../../src/control-plane/core/alerts/delivery.ts";
import type { Asset } from "../../../src/control-plane/core/asset.ts";
import type { StoredChannel } from "../../../src/control-plane/store/alerts.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { createLogger } from "../../../src/lib/logger.ts";
import { alertRouteBodySchema, type AlertRouteBody } from "../../../src/protocol/alerts/settings.ts";
import { FakeClock } from "../fake-clock.ts";
import { waitFor } from "../wait-for.ts";
import { putChannel, putRoute } from "./put-settings.ts";

export const ACCOUNT = "acc_1";
/** Less than what the service takes for its own absence. */
const STEP_MS = 60_000;

/** A message as a channel got it. */
export interface Received {
  readonly atMs: number;
  readonly channel: string;
  readonly id: string;
  readonly message: AlertMessage;
}

/** What the service does about alerts, on a store, with channels of the test's own and a clock that it advances. */
export class AlertRig implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly received: Received[] = [];
  /** What a channel answers; by default that it has got the message. */
  answer: (channel: string, signal: AbortSignal) => Promise<DeliveryAnswer> | DeliveryAnswer = () => ({
    kind: "delivered",
    answer: "200",
  });
  #running: AsyncDisposableStack | undefined;
  #starts = 0;

  /** Starts another process of the service, in place of the one before. @param store as it sees it */
  async start(store: Store): Promise<void> {
    await this.stop();
    const logger = await createLogger({ name: "edge-control", level: "fatal" });
    const instanceId = `ins_${++this.#starts}`;
    const shared = { store, clock: this.clock, logger, instanceId };
    const send = async ({ name }: StoredChannel, message: AlertMessage, id: string, signal: AbortSignal) => {
      this.received.push({ atMs: this.clock.now(), channel: name, id, message });
      return this.answer(name, signal);
    };
    this.#running = new AsyncDisposableStack();
    const channels = { send } as Channels;
    const messenger = this.#running.use(new Messenger({ ...shared, channels, random: () => 0.5 }));
    const onMessage = (): void => messenger.wake();
    this.#running.use(new AlertWatcher({ ...shared, publicUrl: "https://control.example.com", onMessage }));
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Lets time pass in steps of a minute, in which everything is done that is due. */
  async skip(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) await this.#step(Math.min(left, STEP_MS));
  }

  async #step(ms: number): Promise<void> {
    this.clock.pass(ms - 1_000);
    await this.clock.advance(1_000);
  }

  /** Lets time pass, a second at a time, until it is so. */
  async until(what: string, look: () => Promise<boolean> | boolean, stepMs = 1_000): Promise<void> {
    await waitFor(
      what,
      async () => {
        if (await look()) return true;
        await this.#step(stepMs);
        return look();
      },
      { intervalMs: 0 },
    );
  }
}

/** Stores a channel and a route that takes everything to it. */
export async function addRoute(
  store: Store,
  channels: readonly string[],
  fields: Partial<AlertRouteBody> = {},
  accountId = ACCOUNT,
): Promise<void> {
  for (const name of channels) {
    const channel = { accountId, name, kind: "webhook", shown: {}, changedAtMs: 0, keyId: "key_a" };
    const sealed = { sealed: Uint8Array.of(1), failingSinceMs: undefined, disabledAtMs: undefined };
    await putChannel(store, { ...channel, ...sealed });
  }
  const body = alertRouteBodySchema.parse({ channels, ...fields });
  await putRoute(store, accountId, "all", body);
}

/** Registers assets, named in order, whose devices are connected. Returns what ends each connection. */
export async function connectDevices(
  store: Store,
  clock: FakeClock,
  count: number,
): Promise<
  readonly { readonly asset: Asset; readonly leave: () => Promise<void>; readonly join: () => Promise<void> }[]
> {
  const devices = [];
  for (let at = 0; at < count; at++) {
    const number = String(at + 1).padStart(12, "0");
    const asset: Asset = {
      uuid: `00000000-0000-4000-8000-${number}`,
      accountId: ACCOUNT,
      serialNumber: `GW-${number}`,
      name: `GW-${at + 1}`,
      type: "gateway",
      createdAt: at,
      supersim: undefined,
      prosim: undefined,
    };
    await store.assets.registerAsset(asset, Buffer.from(asset.uuid), undefined, true);
    let epoch = 0;
    let sessions = 0;
    const join = async (): Promise<void> => {
      const sessionId = `ses_${at}_${++sessions}`;
      const session = { assetUuid: asset.uuid, instanceId: "ins_1", sessionId, protocol: 1, at: seconds(clock) };
      epoch = (await store.sessions.open(session))?.epoch ?? 0;
    };
    const leave = (): Promise<void> => store.sessions.close({ assetUuid: asset.uuid, epoch }, seconds(clock), "lost");
    await join();
    devices.push({ asset, leave, join });
  }
  return devices;
}

function seconds(clock: FakeClock): number {
  return Math.floor(clock.now() / 1000);
}
