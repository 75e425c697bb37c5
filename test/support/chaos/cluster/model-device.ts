import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { type AgentFrame, decodeControlFrame } from "../../../../src/protocol/link/frames.ts";
import { DeviceModel } from "../../control-plane/device-model.ts";
import type { SeededRandom } from "../seeded-random.ts";

interface ModelDeviceOptions {
  readonly url: string;
  readonly deviceToken: string;
  /** Decides how long the work on each deployment takes, and how it ends. */
  readonly random: SeededRandom;
}

const RETRY_MS = 200;
const PING_MS = 1_000;
/** Longest time for the connection to be established. */
const CONNECT_MS = 3_000;

/**
 * A device without an engine that connects to a real control plane, again and again, and works on what it is told.
 * Nothing of what it has on record is ever lost.
 */
export class ModelDevice implements AsyncDisposable {
  readonly model = new DeviceModel();
  /** Sessions so far. */
  sessions = 0;
  readonly #options: ModelDeviceOptions;
  readonly #begun = new Set<string>();
  readonly #working = new Set<Promise<void>>();
  readonly #stopped = new AbortController();
  readonly #connecting: Promise<void>;
  #socket: WebSocket | undefined;
  #isWelcome = false;
  /** What it has to say in this session before it is welcome. */
  #early: AgentFrame[] = [];

  constructor(options: ModelDeviceOptions) {
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
    const socket = new WebSocket(url, { headers, handshakeTimeout: CONNECT_MS, perMessageDeflate: false });
    this.#socket = socket;
    this.#early = [];
    socket.on("error", () => undefined);
    socket.on("open", () => this.model.connect((frame) => this.#send(socket, frame)));
    socket.on("message", (data: Buffer) => this.#receive(socket, data.toString()));
    // A link may go silent without an end.
    let isAlive = true;
    socket.on("pong", () => (isAlive = true));
    const pings = setInterval(() => {
      if (!isAlive) return socket.terminate();
      if (socket.readyState !== WebSocket.OPEN) return;
      isAlive = false;
      socket.ping();
    }, PING_MS);
    return new Promise((resolve) => {
      socket.once("close", () => {
        clearInterval(pings);
        this.model.disconnect();
        this.#isWelcome = false;
        resolve();
      });
    });
  }

  #receive(socket: WebSocket, text: string): void {
    const decoded = decodeControlFrame(text);
    if (decoded.kind !== "frame") throw new Error(`the control plane sent an invalid frame: ${text}`);
    const { frame } = decoded;
    if (frame.type === "goodbye") return socket.close();
    if (frame.type === "welcome") {
      this.sessions += 1;
      this.#isWelcome = true;
      for (const early of this.#early.splice(0)) this.#send(socket, early);
      return;
    }
    this.model.receive(frame);
    for (const id of this.model.held.keys()) this.#begin(id);
  }

  #begin(id: string): void {
    if (this.#begun.has(id)) return;
    this.#begun.add(id);
    const work = this.#work(id).finally(() => this.#working.delete(work));
    this.#working.add(work);
  }

  async #work(id: string): Promise<void> {
    const { random } = this.#options;
    const { signal } = this.#stopped;
    const steps = random.between(0, 6);
    const slowest = random.pick([20, 400, 1_500, 4_000]);
    const end = random.chance(0.3) ? "Fail" : "Success";
    for (let step = 0; step <= steps; step++) {
      await sleep(random.between(0, slowest), undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      this.model.report(id, step === steps ? end : "Running");
    }
  }

  #send(socket: WebSocket, frame: AgentFrame): void {
    if (socket.readyState !== WebSocket.OPEN) return;
    if (this.#isWelcome || frame.type === "hello") socket.send(JSON.stringify(frame));
    else this.#early.push(frame);
  }
}
