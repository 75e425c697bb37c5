import { InProcessBus } from "../../../src/control-plane/bus/in-process-bus.ts";
import type { Bus, Topic } from "../../../src/control-plane/bus/bus.ts";
import { CredentialCache } from "../../../src/control-plane/deployments/credentials.ts";
import { Deployments, type DeploymentsOptions } from "../../../src/control-plane/deployments/deployments.ts";
import type { DeviceSession, QuerySink } from "../../../src/control-plane/devices/session.ts";
import { MessageQueue } from "../../../src/control-plane/devices/hub/message-queue.ts";
import { SessionQueries } from "../../../src/control-plane/devices/hub/session-queries.ts";
import { StaleSessionError } from "../../../src/control-plane/store/sessions.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { QueryKind } from "../../../src/protocol/link/device-query.ts";
import type { AgentFrame, ControlFrame } from "../../../src/protocol/link/frames.ts";
import { delayedStore } from "./delayed-store.ts";

/** What an instance needs of the simulation around it. */
export interface SimulatedWorld {
  readonly store: Store;
  readonly options: Omit<DeploymentsOptions, "store" | "bus" | "instanceId" | "credentials">;
  readonly errors: unknown[];
  /** Delays one half of a call of the store. */
  delay(): Promise<void>;
  /** Delays a frame. */
  delayFrame(): Promise<void>;
  /** Delivers a message to the other instances: late, several times, or not at all. */
  transmit(from: SimulatedInstance, deliver: (to: SimulatedInstance) => void): void;
  /** The store has refused a write for a session that another has replaced. */
  onStale(): void;
  /** The service has closed the connection. */
  onClosed(session: SimulatedSession): void;
  /** Hands a frame to the device, if the session is still its connection. */
  toDevice(session: SimulatedSession, frame: ControlFrame): void;
}

/** One process of the service, without sockets: in place of the hub, which needs them, with the same guarantees. */
export class SimulatedInstance {
  readonly id: string;
  readonly deployments: Deployments;
  readonly bus = new InProcessBus();
  readonly #world: SimulatedWorld;
  readonly #store: Store;
  #session: SimulatedSession | undefined;
  /** Resolves when the frames of earlier sessions are handled. */
  #closing: Promise<unknown> = Promise.resolve();
  #inProgress = 0;
  #isDead = false;

  constructor(id: string, world: SimulatedWorld) {
    this.id = id;
    this.#world = world;
    this.#store = delayedStore(world.store, () => this.#delay());
    const bus = this.#connectBus();
    const credentials = new CredentialCache();
    this.deployments = new Deployments({
      ...world.options,
      store: this.#store.deployments,
      bus,
      instanceId: id,
      credentials,
    });
    this.bus.subscribeWakes(id, () => this.#session?.isReconciled && this.#deliver(this.#session));
    this.bus.subscribe(`session.${id}`, () => this.track(this.#closeReplaced()));
  }

  /** Number of calls and frames in progress. */
  get inProgress(): number {
    return this.#isDead ? 0 : this.#inProgress;
  }

  isCurrent(session: SimulatedSession): boolean {
    return this.#session === session;
  }

  /** Counts the work as in progress until it is settled. */
  track(work: Promise<unknown>): void {
    this.#inProgress++;
    work.catch((error: unknown) => this.#world.errors.push(error)).finally(() => this.#inProgress--);
  }

  /** Nothing of this process goes on: what is on its way to the store may still arrive there, and no reply comes back. */
  kill(): void {
    this.#isDead = true;
    this.#session?.cut();
  }

  async stop(): Promise<void> {
    const session = this.#session;
    if (session) this.lose(session);
    await this.#closing;
    await this.deployments.stop();
  }

  /** The connection is closed. */
  lose(session: SimulatedSession): void {
    session.cut();
    if (this.#session === session) this.#end(session);
  }

  /** Handles one frame of the device. */
  async handle(session: SimulatedSession, frame: AgentFrame): Promise<void> {
    const handler = this.deployments.frames;
    if (frame.type === "hello") {
      return this.#greet(
        session,
        frame.deployments.map(({ deployment_id: id }) => id),
      );
    }
    if (this.#session !== session) return;
    if (frame.type === "ack") await handler.onAck(session, frame.deployment_id);
    if (frame.type === "event") await handler.onEvent(session, frame.deployment_id, frame.event);
    if (frame.type === "answer") await session.queries.receiverOf(frame.query_id)?.answer(frame.body);
    if (frame.type === "query_end") session.queries.end(frame.query_id, frame.code, frame.message);
  }

  onFailed(session: SimulatedSession, error: unknown): void {
    if (error instanceof StaleSessionError) this.#world.onStale();
    else this.#world.errors.push(error);
    this.lose(session);
  }

  async #greet(session: SimulatedSession, held: readonly string[]): Promise<void> {
    const { id: sessionId, assetUuid } = session;
    const opened = await this.#store.sessions.open({ assetUuid, sessionId, instanceId: this.id, protocol: 3, at: 0 });
    if (!opened) throw new Error("the asset is registered");
    session.epoch = opened.epoch;
    const other = this.#session;
    if (other && other.epoch > opened.epoch) return session.cut();
    this.#session = session;
    if (other) this.#trackClosing(other);
    const { replacedInstanceId } = opened;
    if (replacedInstanceId !== undefined && replacedInstanceId !== this.id) {
      this.#world.transmit(this, ({ bus }) => bus.publish(`session.${replacedInstanceId}`));
    }
    if (session.isCut) return this.#end(session);
    await this.#closing;
    await this.deployments.frames.onConnected(session, held);
    session.isReconciled = true;
    await this.deployments.delivery.deliver(session);
  }

  #deliver(session: SimulatedSession): void {
    const delivering = this.deployments.delivery.deliver(session);
    this.track(delivering.catch((error: unknown) => this.onFailed(session, error)));
  }

  async #closeReplaced(): Promise<void> {
    const session = this.#session;
    const held = await this.#store.sessions.listHeld(this.id);
    if (session && !held.some(({ epoch }) => epoch >= session.epoch)) this.lose(session);
  }

  #end(session: SimulatedSession): void {
    this.#session = undefined;
    this.#trackClosing(session);
    const ending = async (): Promise<void> => {
      await this.#store.sessions.close(session, 0, "lost");
      await session.whenIdle();
      if (!this.#session) await this.deployments.frames.onDisconnected(session);
    };
    this.track(ending());
  }

  #trackClosing(session: SimulatedSession): void {
    session.cut();
    this.#closing = Promise.all([this.#closing, session.whenIdle()]);
  }

  #connectBus(): Bus {
    const local = this.bus;
    const world = this.#world;
    return {
      state: "up",
      publish: (topic: Topic) => {
        local.publish(topic);
        world.transmit(this, ({ bus }) => bus.publish(topic));
      },
      publishWake: (instanceId: string, assetUuid: string) => {
        local.publishWake(instanceId, assetUuid);
        world.transmit(this, ({ bus }) => bus.publishWake(instanceId, assetUuid));
      },
      subscribe: (topic: Topic, listener: () => void) => local.subscribe(topic, listener),
      subscribeWakes: (instanceId, listener) => local.subscribeWakes(instanceId, listener),
    };
  }

  async #delay(): Promise<void> {
    this.#inProgress++;
    try {
      await this.#world.delay();
    } finally {
      this.#inProgress--;
    }
    if (this.#isDead) await new Promise<never>(() => undefined);
  }
}

/** One connection of the device. Frames stay in order in each direction, and are lost when it is cut. */
export class SimulatedSession implements DeviceSession {
  readonly id: string;
  readonly assetUuid: string;
  epoch = 0;
  readonly unknownFeatures: ReadonlySet<string> = new Set();
  isReconciled = false;
  isCut = false;
  readonly queries: SessionQueries;
  readonly #world: SimulatedWorld;
  readonly #instance: SimulatedInstance;
  readonly #messages: MessageQueue<AgentFrame>;
  #busy: Promise<void> = Promise.resolve();
  #up: Promise<void> = Promise.resolve();
  #down: Promise<void> = Promise.resolve();

  constructor(
    id: string,
    assetUuid: string,
    clock: ConstructorParameters<typeof MessageQueue>[0],
    world: SimulatedWorld,
    instance: SimulatedInstance,
  ) {
    this.id = id;
    this.assetUuid = assetUuid;
    this.#world = world;
    this.#instance = instance;
    this.queries = new SessionQueries((frame) => this.send(frame));
    const source = { pause: () => undefined, resume: () => undefined };
    this.#messages = new MessageQueue<AgentFrame>(
      clock,
      source,
      (frame) => {
        this.#busy = instance.handle(this, frame);
        return this.#busy;
      },
      (error) => instance.onFailed(this, error),
    );
  }

  get isCurrent(): boolean {
    return this.#instance.isCurrent(this);
  }

  send(frame: ControlFrame): void {
    if (this.isCut) return;
    this.#down = this.#down.then(() => this.#world.delayFrame());
    this.#down = this.#down.then(() => (this.isCut ? undefined : this.#world.toDevice(this, frame)));
    this.#instance.track(this.#down);
  }

  toService(frame: AgentFrame): void {
    if (this.isCut) return;
    this.#up = this.#up.then(() => this.#world.delayFrame());
    this.#up = this.#up.then(() => (this.isCut ? undefined : this.#receive(frame)));
    this.#instance.track(this.#up);
  }

  #receive(frame: AgentFrame): void {
    this.#messages.push(frame);
    this.#instance.track(this.#messages.whenIdle());
  }

  setHealthThresholds(): void {}

  query(what: QueryKind, params: unknown, sink: QuerySink): Disposable {
    return this.queries.open(what, params, sink);
  }

  openStream(): never {
    throw new Error("no test opens a stream here");
  }

  checkLiveness(): void {}

  cut(): void {
    this.isCut = true;
    this.#world.onClosed(this);
    this.#messages.close();
    this.queries.close();
  }

  /** Resolves when no frame is being handled. */
  async whenIdle(): Promise<void> {
    await this.#busy.catch(() => undefined);
  }
}
