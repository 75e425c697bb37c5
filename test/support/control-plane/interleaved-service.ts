import { InProcessBus } from "../../../src/control-plane/bus/in-process-bus.ts";
import type { Asset } from "../../../src/control-plane/core/asset.ts";
import { type Deployment, isFinished } from "../../../src/control-plane/core/deployment.ts";
import { Deployments } from "../../../src/control-plane/deployments/deployments.ts";
import type { DeviceSession, QuerySink } from "../../../src/control-plane/devices/session.ts";
import { MessageQueue } from "../../../src/control-plane/hub/message-queue.ts";
import { SessionQueries } from "../../../src/control-plane/hub/session-queries.ts";
import { localServiceClock } from "../../../src/control-plane/instances/service-clock.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { StaleSessionError } from "../../../src/control-plane/store/sessions.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { Logger } from "../../../src/lib/logger.ts";
import type { DeploymentAction } from "../../../src/protocol/deployment-action.ts";
import type { DeploymentEvent } from "../../../src/protocol/deployment-event.ts";
import type { QueryKind } from "../../../src/protocol/device-query.ts";
import type { AgentFrame, ControlFrame } from "../../../src/protocol/frames.ts";
import type { SeededRandom } from "../chaos/seeded-random.ts";
import { FakeClock } from "../fake-clock.ts";
import { delayedStore } from "./delayed-store.ts";
import { DeviceModel } from "./device-model.ts";

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
export const DEPLOYMENT_TIMEOUT_MS = 900_000;

/** A client that reads a deployment's stream. */
interface StreamClient {
  readonly events: DeploymentEvent[];
  readonly leave: AbortController;
  ended: boolean;
}

/**
 * The deployments service with one device, over a store and a link with delays that the random source decides for each
 * call and frame. Replaces the hub, which needs sockets, with the same guarantees.
 */
export class InterleavedService {
  readonly clock = new FakeClock();
  readonly device = new DeviceModel();
  /** The store without delays. */
  readonly store: Store = openStore(":memory:");
  readonly clients = new Map<string, StreamClient>();
  readonly errors: unknown[] = [];
  readonly #delayed: Store;
  readonly #bus = new InProcessBus();
  readonly #random: SeededRandom;
  readonly #logger: Logger;
  #deployments: Deployments;
  #session: SimulatedSession | undefined;
  #connections = 0;
  /** Resolves when the frames of earlier sessions are handled. */
  #closing: Promise<unknown> = Promise.resolve();
  /** Number of calls, frames and requests in progress. */
  #inFlight = 0;

  constructor(random: SeededRandom, logger: Logger) {
    this.#random = random;
    this.#logger = logger;
    this.#delayed = delayedStore(this.store, () => this.#delay());
    this.#deployments = this.#start();
  }

  get isConnected(): boolean {
    return this.#session !== undefined;
  }

  /** Registers the device. Must be called first. */
  async register(): Promise<void> {
    await this.store.accounts.createAccount({ id: ASSET.accountId, name: "test", createdAt: 0 });
    await this.store.assets.registerAsset(ASSET, new Uint8Array([1]));
  }

  async request(action: DeploymentAction): Promise<void> {
    const spec = action === "deploy" ? { name: "web", image: "web:1" } : null;
    const id = await this.#deployments.request(ASSET, { action, app: "web", spec, options: {} });
    this.clients.set(id, { events: [], leave: new AbortController(), ended: false });
    this.#read(id);
  }

  cancel(id: string): Promise<Deployment | undefined> {
    return this.#deployments.cancel(id);
  }

  connect(): void {
    const session = new SimulatedSession(`session-${++this.#connections}`, this);
    const before = this.#session;
    this.#session = session;
    if (before) this.track(this.#trackClosing(before));
    this.device.connect((frame) => session.toService(frame));
  }

  disconnect(): void {
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    this.device.disconnect();
    const closed = this.#trackClosing(session);
    const end = async (): Promise<void> => {
      await this.#delayed.sessions.close(session, 0);
      await closed;
      if (!this.#session) await this.#deployments.deploymentHandler.onDisconnected(session);
    };
    this.track(end());
  }

  #trackClosing(session: SimulatedSession): Promise<unknown> {
    this.#closing = Promise.all([this.#closing, session.cut()]);
    return this.#closing;
  }

  /** Stops the service and starts it again on the same store, while nothing else happens. */
  async restart(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    this.device.disconnect();
    if (session) await this.advanceUntil(this.#trackClosing(session));
    await this.advanceUntil(this.#deployments.stop());
    await this.waitUntilIdle();
    this.#deployments = this.#start();
    await this.advanceUntil(this.#deployments.recover());
    for (const [id, client] of this.clients) if (!client.ended) this.#read(id);
  }

  /** Advances the clock until nothing is in progress except timers. */
  async waitUntilIdle(): Promise<void> {
    do await this.clock.advance(100);
    while (this.#inFlight > 0);
  }

  /** Advances the clock until the promise is settled. */
  async advanceUntil<T>(work: Promise<T>): Promise<T> {
    const open = new Set([work]);
    const noted = work.finally(() => open.delete(work));
    noted.catch(() => undefined);
    do await this.clock.advance(100);
    while (open.size > 0);
    return noted;
  }

  /** Counts the work as in progress until it is settled. Its error is kept in `errors`. */
  track(work: Promise<unknown>): void {
    this.#inFlight++;
    work.catch((error: unknown) => this.errors.push(error)).finally(() => this.#inFlight--);
  }

  /** Handles one frame of the device. */
  async handle(session: SimulatedSession, frame: AgentFrame): Promise<void> {
    const handler = this.#deployments.deploymentHandler;
    if (frame.type === "hello") {
      const held = frame.deployments.map(({ deployment_id: id }) => id);
      const { id: sessionId, assetUuid } = session;
      const closing = this.#closing;
      const opened = this.#delayed.sessions.open({ assetUuid, sessionId, instanceId: "ins_1", protocol: 3, at: 0 });
      this.track(opened);
      session.epoch = (await opened)?.epoch ?? 0;
      await closing;
      await handler.onConnected(session, held);
      return;
    }
    if (this.#session !== session) return;
    if (frame.type === "ack") await handler.onAck(session, frame.deployment_id);
    if (frame.type === "event") await handler.onEvent(session, frame.deployment_id, frame.event);
    if (frame.type === "answer") await session.queries.answer(frame.query_id, frame.body);
    if (frame.type === "query_end") session.queries.end(frame.query_id, frame.code, frame.message);
  }

  async storedEvents(id: string): Promise<DeploymentEvent[]> {
    const events = await this.store.deployments.readEvents(id, 0, 20_000);
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
    await this.store[Symbol.asyncDispose]();
  }

  delayFrame(): Promise<void> {
    return this.clock.sleep(this.#random.between(0, 400));
  }

  #start(): Deployments {
    return new Deployments({
      store: this.#delayed.deployments,
      bus: this.#bus,
      clock: this.clock,
      serviceClock: localServiceClock(this.clock),
      logger: this.#logger,
      devices: { find: () => this.#session },
      ackTimeoutMs: ACK_TIMEOUT_MS,
      deploymentTimeoutMs: DEPLOYMENT_TIMEOUT_MS,
      maxAccountBytes: Number.MAX_SAFE_INTEGER,
      retentionMs: Number.MAX_SAFE_INTEGER,
    });
  }

  #read(id: string): void {
    const client = this.clients.get(id);
    if (!client) return;
    const after = client.events.at(-1)?.seq ?? 0;
    const events = this.#deployments.events(id, after, client.leave.signal);
    const reading = async (): Promise<void> => {
      for await (const batch of events) client.events.push(...batch.map(({ json }) => JSON.parse(json)));
      client.ended = client.events.at(-1)?.status !== "Running";
    };
    reading().catch((error: unknown) => this.errors.push(error));
  }

  /** Delays one half of a call: not at all, by some turns of the event loop, or by up to some seconds. */
  async #delay(): Promise<void> {
    this.#inFlight++;
    try {
      const kind = this.#random.between(0, 9);
      if (kind < 4) for (let turns = this.#random.between(0, 8); turns > 0; turns--) await Promise.resolve();
      else await this.clock.sleep(this.#random.between(0, kind === 9 ? 6_000 : 300));
    } finally {
      this.#inFlight--;
    }
  }
}

/** One connection of the device. Frames stay in order in each direction, and are lost when it is cut. */
class SimulatedSession implements DeviceSession {
  readonly id: string;
  epoch = 0;
  readonly assetUuid = ASSET.uuid;
  readonly queries: SessionQueries;
  readonly #service: InterleavedService;
  readonly #messages: MessageQueue<AgentFrame>;
  #isCut = false;
  #busy: Promise<void> = Promise.resolve();
  #up: Promise<void> = Promise.resolve();
  #down: Promise<void> = Promise.resolve();

  constructor(id: string, service: InterleavedService) {
    this.id = id;
    this.#service = service;
    this.queries = new SessionQueries((frame) => this.send(frame));
    const source = { pause: () => undefined, resume: () => undefined };
    this.#messages = new MessageQueue<AgentFrame>(
      service.clock,
      source,
      (frame) => {
        this.#busy = service.handle(this, frame);
        return this.#busy;
      },
      (error) => !(error instanceof StaleSessionError) && service.errors.push(error),
    );
  }

  get isCurrent(): boolean {
    return !this.#isCut;
  }

  send(frame: ControlFrame): void {
    if (this.#isCut) return;
    this.#down = this.#down.then(() => this.#service.delayFrame());
    this.#down = this.#down.then(() => (this.#isCut ? undefined : this.#service.device.receive(frame)));
    this.#service.track(this.#down);
  }

  toService(frame: AgentFrame): void {
    if (this.#isCut) return;
    this.#up = this.#up.then(() => this.#service.delayFrame());
    this.#up = this.#up.then(() => (this.#isCut ? undefined : this.#messages.push(frame)));
    this.#service.track(this.#up);
  }

  query(what: QueryKind, params: unknown, sink: QuerySink): Disposable {
    return this.queries.open(what, params, sink);
  }

  openStream(): never {
    throw new Error("no test opens a stream here");
  }

  supports(): boolean {
    return true;
  }

  checkLiveness(): void {}

  /** Resolves when no frame is being handled. */
  async cut(): Promise<void> {
    this.#isCut = true;
    this.#messages.close();
    this.queries.close();
    await this.#busy.catch(() => undefined);
  }
}
