import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import type { DeviceEvent } from "../../../src/protocol/deployments/deployment-event.ts";
import { type ControlFrame, decodeControlFrame } from "../../../src/protocol/link/frames.ts";
import { PROTOCOL_VERSION } from "../../../src/protocol/version.ts";

interface ReturningDeviceOptions {
  readonly url: string;
  readonly deviceToken: string;
  /** Milliseconds between two events of a deployment. */
  readonly eventMs: number;
  /** Events before the final one. */
  readonly runningEvents: number;
}

/** A deployment that the control plane has not confirmed to its end. */
interface Task {
  readonly events: DeviceEvent[];
  confirmed: number;
}

const RETRY_MS = 200;

/**
 * A device as the agent is towards the control plane, without an engine: keeps every event until it is confirmed, connects
 * again whenever its connection ends, and then sends what is not confirmed. Every deployment succeeds.
 */
export class ReturningDevice implements AsyncDisposable {
  /** Sessions so far. */
  sessions = 0;
  /** Events that the control plane has confirmed. */
  confirmations = 0;
  /** Ids of deployments that it was told to undo. */
  readonly cancelled: string[] = [];
  readonly #options: ReturningDeviceOptions;
  readonly #tasks = new Map<string, Task>();
  /** Of deployments that have ended and are confirmed. */
  readonly #ended = new Set<string>();
  readonly #working = new Set<Promise<void>>();
  readonly #stopped = new AbortController();
  readonly #connecting: Promise<void>;
  #socket: WebSocket | undefined;
  #isWelcome = false;

  constructor(options: ReturningDeviceOptions) {
    this.#options = options;
    this.#connecting = this.#keepConnected();
  }

  get isConnected(): boolean {
    return this.#isWelcome;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped.abort();
    this.#socket?.terminate();
    await Promise.all([this.#connecting, ...this.#working]);
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await this.#session();
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Resolves when the connection has ended, or was refused. */
  #session(): Promise<void> {
    const { url, deviceToken } = this.#options;
    const headers = { Authorization: `Bearer ${deviceToken}` };
    const socket = new WebSocket(url, { headers, perMessageDeflate: false });
    this.#socket = socket;
    socket.on("error", () => undefined);
    socket.on("open", () => {
      const deployments = [...this.#tasks.keys()].map((id) => ({ deployment_id: id }));
      this.#send({ type: "hello", protocol: PROTOCOL_VERSION, agent_version: "0.0.0-test", deployments });
    });
    socket.on("message", (data: Buffer) => {
      const decoded = decodeControlFrame(data.toString());
      if (decoded.kind !== "frame") throw new Error(`the control plane sent an invalid frame: ${data.toString()}`);
      this.#receive(decoded.frame);
    });
    return new Promise((resolve) => {
      socket.once("close", () => {
        this.#isWelcome = false;
        resolve();
      });
    });
  }

  #receive(frame: ControlFrame): void {
    if (frame.type === "welcome") this.#resume();
    else if (frame.type === "goodbye") this.#socket?.close();
    else if (frame.type === "deploy") this.#accept(frame.deployment_id);
    else if (frame.type === "event_ack") this.#confirm(frame.deployment_id, frame.device_seq);
    else if (frame.type === "cancel") this.cancelled.push(frame.deployment_id);
    else if (frame.type === "query") {
      const { deployment_ids: ids = [] } = (frame.params ?? {}) as { readonly deployment_ids?: readonly string[] };
      const deployments = ids.map((id) => ({ deployment_id: id, status: null }));
      this.#send({ type: "answer", query_id: frame.query_id, body: { deployments } });
    }
  }

  #resume(): void {
    this.sessions += 1;
    this.#isWelcome = true;
    for (const [id, { events, confirmed }] of this.#tasks) {
      this.#send({ type: "ack", deployment_id: id });
      for (const event of events.filter(({ device_seq: seq }) => seq > confirmed)) this.#report(id, event);
    }
  }

  #accept(id: string): void {
    if (this.#ended.has(id)) return;
    this.#send({ type: "ack", deployment_id: id });
    if (this.#tasks.has(id)) return;
    const task: Task = { events: [], confirmed: 0 };
    this.#tasks.set(id, task);
    const work = this.#work(id, task).finally(() => this.#working.delete(work));
    this.#working.add(work);
  }

  async #work(id: string, { events }: Task): Promise<void> {
    const { eventMs, runningEvents } = this.#options;
    const { signal } = this.#stopped;
    for (let seq = 1; seq <= runningEvents + 1 && !signal.aborted; seq++) {
      await sleep(eventMs, undefined, { signal }).catch(() => undefined);
      const isLast = seq > runningEvents;
      const event: DeviceEvent = isLast
        ? { status: "Success", message: "The app runs.", step: "done", device_seq: seq }
        : { status: "Running", message: `Working, part ${seq}.`, step: "checking", device_seq: seq };
      events.push(event);
      if (this.#isWelcome) this.#report(id, event);
    }
  }

  #confirm(id: string, seq: number): void {
    const task = this.#tasks.get(id);
    if (!task) return;
    this.confirmations += 1;
    task.confirmed = Math.max(task.confirmed, seq);
    if (seq <= this.#options.runningEvents) return;
    this.#tasks.delete(id);
    this.#ended.add(id);
  }

  #report(id: string, event: DeviceEvent): void {
    this.#send({ type: "event", deployment_id: id, event });
  }

  #send(frame: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame));
  }
}
