import { WebSocket } from "ws";
import type { ReportDelta } from "../../src/protocol/apps/app-report.ts";
import type { DeploymentOutcome } from "../../src/protocol/deployments/deployment-outcome.ts";
import type { DeviceEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { type ControlFrame, decodeControlFrame } from "../../src/protocol/link/frames.ts";
import { BOOT_ID_HEADER, PROTOCOL_VERSION } from "../../src/protocol/version.ts";
import { MAX_WAIT_MS } from "./wait-for.ts";

export type FrameOf<T extends ControlFrame["type"]> = Extract<ControlFrame, { type: T }>;

export interface FakeDeviceOptions {
  /** Ids of the deployments `hello` lists. */
  readonly held?: readonly string[];
  /** Version of the agent in `hello`. */
  readonly agentVersion?: string;
  /** Protocol version in `hello`. */
  readonly protocol?: number;
  /** Id of its boot, by which devices with one token are told apart. */
  readonly bootId?: string;
  /** Acknowledges deployments and commands automatically. Default true. */
  readonly acknowledges?: boolean;
  /** Responses to outcome queries. Default: no record of any deployment. `false`: does not respond. */
  readonly outcomes?: readonly DeploymentOutcome[] | false;
  /** Response to a query for the log of an app, line by line. Default: does not respond. */
  readonly logs?: (app: string) => readonly string[];
}

/** A device that the test controls, over a real WebSocket. */
export class FakeDevice implements AsyncDisposable {
  /** Everything the control plane sent, in order. */
  readonly received: ControlFrame[] = [];
  /** Binary messages, in order. */
  readonly binary: Buffer[] = [];
  /** Resolves with the close code when the connection is closed. */
  readonly closed: Promise<number>;
  readonly #socket: WebSocket;
  readonly #acknowledges: boolean;
  readonly #outcomes: readonly DeploymentOutcome[] | false;
  readonly #logs: FakeDeviceOptions["logs"];
  readonly #waiting = new Set<() => void>();
  readonly #deviceSeqs = new Map<string, number>();
  #consumed = 0;

  private constructor(socket: WebSocket, { acknowledges = true, outcomes = [], logs }: FakeDeviceOptions) {
    this.#socket = socket;
    this.#acknowledges = acknowledges;
    this.#outcomes = outcomes;
    this.#logs = logs;
    this.closed = new Promise((resolve) => {
      socket.once("close", (code) => {
        resolve(code);
        this.#wake();
      });
    });
    socket.on("message", (data: Buffer, isBinary) => {
      if (isBinary) this.binary.push(data);
      else this.#receive(data.toString());
    });
    socket.on("error", () => {});
  }

  get isClosed(): boolean {
    return this.#socket.readyState !== WebSocket.OPEN;
  }

  /** Opens the connection without `hello`. Rejects when it is refused. */
  static async open(url: string, token: string, options: FakeDeviceOptions = {}): Promise<FakeDevice> {
    const socket = new WebSocket(url, {
      headers: {
        Authorization: `Bearer ${token}`,
        ...(options.bootId !== undefined && { [BOOT_ID_HEADER]: options.bootId }),
      },
      perMessageDeflate: false,
    });
    const device = new FakeDevice(socket, options);
    await new Promise<void>((resolve, reject) => {
      socket.once("open", () => resolve());
      socket.once("error", reject);
    });
    return device;
  }

  /** Opens the connection, sends `hello` and waits for `welcome`. */
  static async connect(url: string, token: string, options: FakeDeviceOptions = {}): Promise<FakeDevice> {
    const device = await FakeDevice.open(url, token, options);
    device.hello(options);
    await device.next("welcome");
    return device;
  }

  hello({ held = [], protocol = PROTOCOL_VERSION, agentVersion = "0.0.0-test" }: FakeDeviceOptions = {}): void {
    const deployments = held.map((id) => ({ deployment_id: id }));
    this.send({ type: "hello", protocol, agent_version: agentVersion, deployments });
  }

  ack(deploymentId: string): void {
    this.send({ type: "ack", deployment_id: deploymentId });
  }

  /** Sends an event, with the deployment's next `device_seq` by default. Returns the `device_seq`. */
  event(deploymentId: string, event: Partial<DeviceEvent>): number {
    const deviceSeq = event.device_seq ?? (this.#deviceSeqs.get(deploymentId) ?? 0) + 1;
    this.#deviceSeqs.set(deploymentId, deviceSeq);
    const full = { status: "Running", message: "Working.", step: "checking", ...event, device_seq: deviceSeq };
    this.send({ type: "event", deployment_id: deploymentId, event: full });
    return deviceSeq;
  }

  /** Sends the final event of a successful deployment. */
  success(deploymentId: string): number {
    return this.event(deploymentId, { status: "Success", message: "The app runs.", step: "done" });
  }

  /** Sends one answer to a query; may be called repeatedly. */
  answer(queryId: string, body: unknown): void {
    this.send({ type: "answer", query_id: queryId, body });
  }

  /** Ends a query, with an error if a code is given. */
  endQuery(queryId: string, code?: string, message?: string): void {
    this.send({ type: "query_end", query_id: queryId, ...(code && { code }), ...(message && { message }) });
  }

  /** Sends a report: complete, or a delta if `base` is given. */
  report(change: Partial<ReportDelta> & Pick<ReportDelta, "hash">): void {
    this.send({ type: "report", base: null, apps: [], removed_apps: [], ...change });
  }

  /** Says that the last report has been out of date for so many seconds; `null`: it is current. */
  reportHeld(seconds: number | null): void {
    this.send({ type: "report_held", since_s: seconds });
  }

  /** Sends a frame: strings and buffers unchanged, everything else as JSON. */
  send(frame: unknown): void {
    this.#socket.send(typeof frame === "string" || Buffer.isBuffer(frame) ? frame : JSON.stringify(frame));
  }

  /** Returns the next frame of one of these types, skipping others. Rejects after `MAX_WAIT_MS`, or when the connection is closed. */
  async next<T extends ControlFrame["type"]>(...types: readonly T[]): Promise<FrameOf<T>> {
    const deadline = performance.now() + MAX_WAIT_MS;
    for (;;) {
      while (this.#consumed < this.received.length) {
        const frame = this.received[this.#consumed++];
        if (frame && (types as readonly string[]).includes(frame.type)) return frame as FrameOf<T>;
      }
      const left = deadline - performance.now();
      if (left <= 0)
        throw new Error(
          `no ${types.join(" or ")} within ${MAX_WAIT_MS} ms; received: ${JSON.stringify(this.received.slice(-10))}`,
        );
      if (this.#socket.readyState === WebSocket.CLOSED)
        throw new Error(`connection closed before ${types.join(" or ")}`);
      await this.#wait(left);
    }
  }

  /** Resolves when everything sent so far has reached the control plane's connection. */
  async flushed(): Promise<void> {
    const pong = new Promise((resolve) => {
      this.#socket.once("pong", resolve);
    });
    this.#socket.ping();
    await Promise.race([pong, this.closed]);
  }

  /** Stops reading, like a device that hangs. */
  freeze(): void {
    this.#socket.pause();
  }

  /** Resumes reading. */
  thaw(): void {
    this.#socket.resume();
  }

  /** Terminates the connection without a close frame. */
  async cut(): Promise<void> {
    this.#socket.terminate();
    await this.closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.thaw();
    await this.cut();
  }

  #receive(text: string): void {
    const decoded = decodeControlFrame(text);
    if (decoded.kind !== "frame") throw new Error(`the control plane sent an invalid frame: ${text}`);
    this.received.push(decoded.frame);
    const { type } = decoded.frame;
    const isCommand = type === "deploy" || type === "command" || type === "apply";
    if (isCommand && this.#acknowledges) this.ack(decoded.frame.deployment_id);
    if (decoded.frame.type === "query" && decoded.frame.what === "deployments") this.#answerOutcomes(decoded.frame);
    if (decoded.frame.type === "query" && decoded.frame.what === "logs") this.#answerLogs(decoded.frame);
    this.#wake();
  }

  #answerOutcomes({ query_id: queryId, params }: FrameOf<"query">): void {
    const outcomes = this.#outcomes;
    if (outcomes === false) return;
    const { deployment_ids: ids } = params as { deployment_ids: readonly string[] };
    const deployments = ids.map(
      (id) => outcomes.find(({ deployment_id }) => deployment_id === id) ?? { deployment_id: id, status: null },
    );
    this.answer(queryId, { deployments });
  }

  #answerLogs({ query_id: queryId, params }: FrameOf<"query">): void {
    if (!this.#logs) return;
    const { app } = params as { readonly app: string };
    const time = "2026-11-20T10:00:00Z";
    this.answer(queryId, { lines: this.#logs(app).map((text) => ({ stream: "stdout", time, text })) });
    this.endQuery(queryId);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#waiting.add(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
