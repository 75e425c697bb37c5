import { commandOf } from "../deployment-record.ts";
import type { Asset } from "../../../src/control-plane/core/asset.ts";
import { type Deployment, isFinished } from "../../../src/control-plane/core/deployment.ts";
import type { DeploymentsOptions } from "../../../src/control-plane/deployments/deployments.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { Logger } from "../../../src/lib/logger.ts";
import type { DeploymentAction } from "../../../src/protocol/deployments/deployment-action.ts";
import type { DeploymentEvent } from "../../../src/protocol/deployments/deployment-event.ts";
import type { ControlFrame } from "../../../src/protocol/link/frames.ts";
import type { SeededRandom } from "../chaos/seeded-random.ts";
import { FakeClock } from "../fake-clock.ts";
import { DeviceModel } from "./device-model.ts";
import { SimulatedInstance, SimulatedSession, type SimulatedWorld } from "./simulated-instance.ts";

const ORIGIN = { accountId: "acc_1", actor: { kind: "key", id: "key_1" }, source: undefined } as const;
const ASSET: Asset = {
  uuid: "11111111-1111-4111-8111-111111111111",
  accountId: "acc_1",
  serialNumber: "GW-1",
  name: "GW-1",
  type: "",
  createdAt: 0,
  supersim: undefined,
  prosim: undefined,
};

const ACK_TIMEOUT_MS = 10_000;
export const DEPLOYMENT_TIMEOUT_MS = 180_000;
/** How often an instance beside others reads the store for what lost messages have not told. */
const POLL_MS = 3_000;
/** Longest time that a client waits for the device, in seconds. */
const MAX_WAIT_S = 60;
/** Longest time until a service notices that a connection is dead. */
const MAX_HALF_OPEN_MS = 15_000;

/** How often something has happened that cannot happen to a service that is alone. */
export type FaultCounts = Record<"staleWrites" | "lostMessages" | "repeatedMessages" | "kills" | "halfOpen", number>;

/** A client that reads a deployment's stream. */
interface StreamClient {
  readonly events: DeploymentEvent[];
  readonly leave: AbortController;
  /** The instance that it reads from. */
  instance: SimulatedInstance | undefined;
  ended: boolean;
}

/**
 * The deployments service with one device, in one or several instances over one store, with delays of the store, the bus and
 * the links that the random source decides for each call, message and frame. Messages between instances get lost and
 * repeated, and the device moves from one instance to another, which may not notice.
 */
export class InterleavedService implements SimulatedWorld {
  readonly clock = new FakeClock();
  readonly device = new DeviceModel();
  /** The store without delays. */
  readonly store: Store = openStore(":memory:");
  readonly clients = new Map<string, StreamClient>();
  readonly errors: unknown[] = [];
  readonly faults: FaultCounts = { staleWrites: 0, lostMessages: 0, repeatedMessages: 0, kills: 0, halfOpen: 0 };
  readonly options: Omit<DeploymentsOptions, "store" | "bus" | "instanceId" | "credentials">;
  readonly #random: SeededRandom;
  readonly #isAlone: boolean;
  #instances: SimulatedInstance[] = [];
  /** The device's connection, and the instance at its other end. */
  #link: { readonly session: SimulatedSession; readonly instance: SimulatedInstance } | undefined;
  #count = 0;
  /** Number of messages between instances and of calls of the test in progress. */
  #inProgress = 0;

  constructor(random: SeededRandom, logger: Logger, instances = 1) {
    this.#random = random;
    this.#isAlone = instances === 1;
    this.options = {
      clock: this.clock,
      logger,
      gateway: { credentials: () => Promise.resolve(undefined) },
      findObstacle: async () => undefined,
      limits: {
        ackTimeoutMs: ACK_TIMEOUT_MS,
        deploymentTimeoutMs: DEPLOYMENT_TIMEOUT_MS,
        maxAccountBytes: Number.MAX_SAFE_INTEGER,
        retentionMs: Number.MAX_SAFE_INTEGER,
      },
      ...(!this.#isAlone && { pollMs: POLL_MS }),
    };
    for (let index = 0; index < instances; index++) this.#addInstance();
  }

  /** Registers the device, and starts the instances. */
  async start(): Promise<void> {
    await this.store.accounts.createAccount({ id: ASSET.accountId, name: "test", createdAt: 0 });
    await this.store.assets.registerAsset(ASSET, new Uint8Array([1]), undefined, true);
    for (const { deployments } of this.#instances) deployments.start();
  }

  get isConnected(): boolean {
    return this.#link !== undefined;
  }

  /** Requests a deployment from any instance. */
  request(action: DeploymentAction): void {
    const spec = action === "deploy" ? { name: "web", image: "web:1" } : null;
    const instance = this.#random.pick(this.#instances);
    const waitForDeviceS = this.#random.chance(0.4) ? this.#random.between(1, MAX_WAIT_S) : undefined;
    const command = { command: commandOf(action, spec), app: "web", options: {}, waitForDeviceS };
    const request = async (): Promise<void> => {
      const id = await instance.deployments.request(ASSET, command, ORIGIN);
      this.clients.set(id, { events: [], leave: new AbortController(), instance: undefined, ended: false });
      this.#read(id);
    };
    instance.track(request());
  }

  cancel(id: string): void {
    const instance = this.#random.pick(this.#instances);
    instance.track(instance.deployments.cancel({ id, app: "web", assetUuid: ASSET.uuid }, ORIGIN));
  }

  /** The device connects to any instance. An earlier one may not notice for some time that its connection is dead. */
  connect(): void {
    this.#abandonLink();
    const instance = this.#random.pick(this.#instances);
    const session = new SimulatedSession(`session-${++this.#count}`, ASSET.uuid, this.clock, this, instance);
    this.#link = { session, instance };
    this.device.connect((frame) => session.toService(frame));
  }

  disconnect(): void {
    this.device.disconnect();
    this.#abandonLink();
  }

  /**
   * Stops the service and starts it again on the same store: one that is alone while nothing else happens, otherwise one of
   * several instances, gracefully or by a crash.
   */
  async restart(): Promise<void> {
    if (!this.#isAlone) return this.#replaceInstance();
    const [instance] = this.#instances;
    if (!instance) return;
    this.device.disconnect();
    this.#link = undefined;
    await this.#advanceUntil(instance.stop());
    await this.waitUntilIdle();
    this.#instances = [];
    const next = this.#addInstance();
    await this.store.sessions.closeAll(undefined);
    await this.#advanceUntil(next.deployments.recover());
    next.deployments.start();
    for (const [id, client] of this.clients) if (!client.ended) this.#read(id);
  }

  /** Advances the clock until nothing is in progress except timers. */
  async waitUntilIdle(): Promise<void> {
    const isBusy = (): boolean => this.#inProgress > 0 || this.#instances.some(({ inProgress }) => inProgress > 0);
    do await this.clock.advance(100);
    while (isBusy());
  }

  /** Waits until instances beside others have read what a lost message has not told them. */
  async pollUntilIdle(): Promise<void> {
    if (this.#isAlone) return;
    for (let polls = 0; polls < 3; polls++) {
      await this.clock.advance(POLL_MS);
      await this.waitUntilIdle();
    }
  }

  onStale(): void {
    this.faults.staleWrites++;
  }

  async storedEvents(id: string): Promise<DeploymentEvent[]> {
    const { events } = await this.store.deployments.readEvents(id, 0, 20_000);
    return events.map(({ json }) => JSON.parse(json) as DeploymentEvent);
  }

  async records(): Promise<Deployment[]> {
    const found = await Promise.all([...this.clients.keys()].map((id) => this.store.deployments.findDeployment(id)));
    return found.filter((record) => record !== undefined);
  }

  async unfinished(): Promise<Deployment[]> {
    return (await this.records()).filter((record) => !isFinished(record));
  }

  async close(): Promise<void> {
    for (const { leave } of this.clients.values()) leave.abort();
    for (const instance of this.#instances) instance.kill();
    await this.store[Symbol.asyncDispose]();
  }

  delayFrame(): Promise<void> {
    return this.clock.sleep(this.#random.between(0, 400));
  }

  /** Delays one half of a call: not at all, by some turns of the event loop, or by up to some seconds. */
  async delay(): Promise<void> {
    const kind = this.#random.between(0, 9);
    if (kind < 4) for (let turns = this.#random.between(0, 8); turns > 0; turns--) await Promise.resolve();
    else await this.clock.sleep(this.#random.between(0, kind === 9 ? 6_000 : 300));
  }

  transmit(from: SimulatedInstance, deliver: (to: SimulatedInstance) => void): void {
    for (const to of this.#instances) {
      if (to === from) continue;
      const kind = this.#random.between(0, 9);
      const times = kind < 3 ? 0 : kind === 3 ? 2 : 1;
      if (times === 0) this.faults.lostMessages++;
      if (times === 2) this.faults.repeatedMessages++;
      for (let time = 0; time < times; time++) {
        this.#track(this.clock.sleep(this.#random.between(0, 800)).then(() => deliver(to)));
      }
    }
  }

  onClosed(session: SimulatedSession): void {
    if (this.#link?.session !== session) return;
    this.#link = undefined;
    this.device.disconnect();
  }

  toDevice(session: SimulatedSession, frame: ControlFrame): void {
    if (this.#link?.session === session) this.device.receive(frame);
  }

  #addInstance(): SimulatedInstance {
    const instance = new SimulatedInstance(`ins_${++this.#count}`, this);
    this.#instances.push(instance);
    return instance;
  }

  async #replaceInstance(): Promise<void> {
    // One that is left must do everything.
    if (this.#instances.length === 1) return this.#addInstance().deployments.start();
    const instance = this.#random.pick(this.#instances);
    this.#instances = this.#instances.filter((other) => other !== instance);
    if (this.#link?.instance === instance) this.disconnect();
    if (this.#random.chance(0.5)) {
      this.faults.kills++;
      instance.kill();
    } else this.#track(instance.stop());
    if (this.#random.chance(0.5)) this.#addInstance().deployments.start();
    for (const [id, client] of this.clients) if (client.instance === instance && !client.ended) this.#read(id);
  }

  #abandonLink(): void {
    const link = this.#link;
    this.#link = undefined;
    if (!link) return;
    const lose = (): void => link.instance.lose(link.session);
    if (this.#random.chance(0.6)) lose();
    else {
      this.faults.halfOpen++;
      this.clock.timer(this.#random.between(0, MAX_HALF_OPEN_MS), lose);
    }
  }

  #track(work: Promise<unknown>): void {
    this.#inProgress++;
    work.catch((error: unknown) => this.errors.push(error)).finally(() => this.#inProgress--);
  }

  /** Advances the clock until the promise is settled. */
  async #advanceUntil<T>(work: Promise<T>): Promise<T> {
    const open = new Set([work]);
    const noted = work.finally(() => open.delete(work));
    noted.catch(() => undefined);
    do await this.clock.advance(100);
    while (open.size > 0);
    return noted;
  }

  /** Reads the stream from any instance, from where the client is. */
  #read(id: string): void {
    const client = this.clients.get(id);
    if (!client) return;
    const instance = this.#random.pick(this.#instances);
    client.instance = instance;
    const after = client.events.at(-1)?.seq ?? 0;
    const events = instance.deployments.events(id, after, client.leave.signal);
    const reading = async (): Promise<void> => {
      for await (const batch of events) {
        if (client.instance !== instance) return;
        client.events.push(...batch.map(({ json }) => JSON.parse(json)));
      }
      client.ended = client.events.at(-1)?.status !== "Running";
    };
    reading().catch((error: unknown) => this.errors.push(error));
  }
}
