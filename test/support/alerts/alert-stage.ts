import { setImmediate } from "node:timers/promises";
import { replaceParts } from "../../../src/control-plane/metrics/observe-store.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { type ApiClient, apiClient } from "../api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount } from "../control-plane.ts";
import { FakeClock } from "../fake-clock.ts";
import { FakeDevice } from "../fake-device.ts";
import { waitFor } from "../wait-for.ts";
import { Receivers } from "./receivers.ts";

/** Less than what the service takes for its own absence. */
const MAX_STEP_MS = 110_000;
/** Turns of the event loop in which the store is not called, after which the service waits for its clock. */
const QUIET_TURNS = 30;

/** A device with its connection. */
export interface StagedDevice {
  readonly uuid: string;
  /** Cuts the connection, as a plug that is pulled does. Resolves when the service has noticed. */
  unplug(): Promise<void>;
  plugIn(): Promise<void>;
}

/**
 * The server with its HTTP API, devices over WebSockets and receivers, all on real sockets, under a clock that moves when the test
 * says so: each step waits until the service has done everything that is due, and has heard what receivers answer.
 */
export class AlertStage implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly receivers: Receivers;
  readonly control: ControlPlane;
  readonly account: TestAccount;
  readonly api: ApiClient;
  /** Channels that do not answer: nobody waits for them. */
  readonly hanging = new Set<string>();
  readonly #activity: Activity;
  readonly #connected = new Set<FakeDevice>();
  #devices = 0;

  private constructor(
    parts: Pick<AlertStage, "clock" | "receivers" | "control" | "account" | "api"> & { readonly activity: Activity },
  ) {
    this.clock = parts.clock;
    this.receivers = parts.receivers;
    this.control = parts.control;
    this.account = parts.account;
    this.api = parts.api;
    this.#activity = parts.activity;
  }

  /** @param start time of day, in milliseconds since the Unix epoch */
  static async start(start: number): Promise<AlertStage> {
    const clock = new FakeClock(start);
    const receivers = await Receivers.start(() => clock.now());
    const activity = new Activity();
    const control = await startControlPlane({
      clock,
      decorateStore: (store) => activity.watch(store),
      config: {
        public_url: "https://control.example.com",
        alert_channels: { allow_private: ["127.0.0.1"] },
        mail: { host: "127.0.0.1", port: receivers.mailPort, tls: "none", from: "alerts@example.com" },
      },
    });
    const account = await control.account();
    return new AlertStage({ clock, receivers, control, account, api: apiClient(control, account), activity });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const device of this.#connected) await device.cut();
    // Before the server, which waits for what it is sending.
    await this.receivers[Symbol.asyncDispose]();
    await this.control[Symbol.asyncDispose]();
  }

  /** Stores the settings of the account by the API. */
  async configure(settings: object): Promise<void> {
    const { status, body } = await this.api.put("/v1/alert-settings", settings);
    if (status !== 200) throw new Error(`the settings were refused: ${JSON.stringify(body)}`);
    this.receivers.secrets = body["new_secrets"] as Record<string, string>;
  }

  /** Registers devices and connects them. They are named in order. */
  async devices(count: number, tags?: Readonly<Record<string, string>>): Promise<readonly StagedDevice[]> {
    const devices: StagedDevice[] = [];
    for (let at = 0; at < count; at++) {
      const { uuid, deviceToken } = await this.control.asset(this.account, { name: `GW-${++this.#devices}` });
      if (tags) await this.api.put(`/v1/assets/${uuid}/tags`, tags);
      const device = this.#stage(uuid, deviceToken);
      await device.plugIn();
      devices.push(device);
    }
    return devices;
  }

  #stage(uuid: string, token: string): StagedDevice {
    let connection: FakeDevice | undefined;
    return {
      uuid,
      plugIn: async () => {
        connection = await FakeDevice.connect(this.control.agentUrl, token);
        this.#connected.add(connection);
      },
      unplug: async () => {
        if (!connection) return;
        this.#connected.delete(connection);
        await connection.cut();
        await waitFor(
          "the service to notice",
          async () => (await this.control.store.sessions.find(uuid))?.instanceId === undefined,
          { intervalMs: 0 },
        );
      },
    };
  }

  /** Lets time pass, second by second for the last `fineMs`: messages are timed by the second in them. */
  async pass(ms: number, fineMs = 0): Promise<void> {
    const coarseMs = Math.max(0, ms - fineMs);
    for (let left = coarseMs; left > 0; left -= MAX_STEP_MS) await this.#step(Math.min(left, MAX_STEP_MS));
    for (let left = ms - coarseMs; left > 0; left -= 1_000) await this.#step(1_000);
  }

  async #step(ms: number): Promise<void> {
    this.clock.pass(ms - 1_000);
    await this.clock.advance(1_000);
    await waitFor(
      "the service to have done what is due",
      async () => {
        for (let turn = 0; turn < QUIET_TURNS; turn++) {
          const before = this.#activity.calls;
          await setImmediate();
          if (this.#activity.isBusy(this.hanging) || this.#activity.calls !== before) return false;
        }
        return true;
      },
      { intervalMs: 0 },
    );
  }
}

/** What the alerts of the service are doing, by their calls of the store. */
class Activity {
  calls = 0;
  readonly #open = new Set<symbol>();
  /** Channels that a message is on its way to. */
  readonly #sending = new Map<string, number>();

  isBusy(hanging: ReadonlySet<string>): boolean {
    return this.#open.size > 0 || [...this.#sending.keys()].some((channel) => !hanging.has(channel));
  }

  watch(store: Store): Store {
    const { alertOutbox } = store;
    const outbox = this.#counted(alertOutbox, {
      claim: async (...parameters) => {
        const claimed = await alertOutbox.claim(...parameters);
        for (const { channel, id } of claimed) this.#sending.set(channel, id);
        return claimed;
      },
      finish: async (delivery, ...parameters) => {
        await alertOutbox.finish(delivery, ...parameters);
        this.#sending.delete(delivery.channel);
      },
    });
    return replaceParts(store, { alerts: this.#counted(store.alerts, {}), alertOutbox: outbox });
  }

  #counted<T extends object>(part: T, methods: Partial<T>): T {
    return new Proxy(part, {
      get: (target, name) => {
        const method: unknown = Reflect.get(Object.hasOwn(methods, name) ? methods : target, name);
        if (typeof method !== "function") return method;
        return async (...parameters: unknown[]): Promise<unknown> => {
          const call = Symbol(String(name));
          this.calls++;
          this.#open.add(call);
          try {
            return await (method.apply(target, parameters) as Promise<unknown>);
          } finally {
            this.#open.delete(call);
          }
        };
      },
    });
  }
}
