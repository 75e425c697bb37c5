import { once } from "node:events";
import { WebSocket } from "ws";
import { INITIAL_LINK_STATE, type LinkState, nextAttempt } from "../../../src/agent/core/link/link-state.ts";
import { configSchema } from "../../../src/agent/config/schema.ts";
import { toLinkConfig } from "../../../src/agent/link/to-link-config.ts";
import { fullJitter } from "../../../src/lib/backoff.ts";
import { agentUpdateSchema } from "../../../src/protocol/agents/agent-update.ts";
import type { AppReport } from "../../../src/protocol/apps/app-report.ts";
import type { AgentFrame, ControlFrame } from "../../../src/protocol/link/frames.ts";
import { deploymentsParamsSchema } from "../../../src/protocol/deployments/deployment-outcome.ts";
import type { DeviceEvent } from "../../../src/protocol/deployments/deployment-event.ts";
import { PROTOCOL_VERSION } from "../../../src/protocol/version.ts";
import { type AppliedGroup, reportOf } from "./applied-apps.ts";
import { fetchRelease } from "./fetch-release.ts";

/**
 * Messages to this process. `connect` gets a reply when all devices are connected, `disconnect` when none is, `count` at once.
 * With `returns` devices whose connection is lost connect again when an agent would.
 */
export type FleetOrder =
  | { readonly type: "connect"; readonly url: string; readonly tokens: readonly string[]; readonly returns: boolean }
  | { readonly type: "disconnect" }
  | { readonly type: "count" };

/** Its reply. */
export interface FleetReport {
  readonly connected: number;
  /** Time of day at which each device was last welcomed that came back, in milliseconds. */
  readonly returnedAt: readonly number[];
  /** Time of day at which groups of apps were received since the last report of this process, in milliseconds. */
  readonly appliedAt: readonly number[];
  /** Bytes of each release of the agent that a device has fetched since then, once the service knows that it works. */
  readonly updateBytes: readonly number[];
}

/** Devices that connect at a time. */
const CONCURRENT_CONNECTS = 64;
/** How often a device tries to connect for the first time. */
const MAX_FIRST_TRIES = 5;

/** The events of a deployment as a device sends them, each when the one before is acknowledged. */
const STEPS: readonly Pick<DeviceEvent, "status" | "step" | "message">[] = [
  { status: "Running", step: "checking", message: "Checking the request." },
  { status: "Running", step: "pulling", message: "Pulling image: 43% (12.3 of 28.5 MB)." },
  { status: "Running", step: "creating", message: "Creating the container." },
  { status: "Running", step: "starting", message: "Starting the app." },
  { status: "Running", step: "verifying", message: "Verifying that the app stays up." },
  { status: "Success", step: "done", message: "App web is running." },
];

const file = configSchema.parse({ control_plane_url: "wss://control.example", device_token: "ed_none" });
const { backoff } = toLinkConfig({ ...file, path: "", token: "ed_none", extraCa: undefined }, undefined);

const sockets = new Set<WebSocket>();
const returnedAt = new Map<Device, number>();
let appliedAt: number[] = [];
let updateBytes: number[] = [];
let isEnding = false;

/** A device with the deployments that have not come to their end, and the number of the event that is not acknowledged. */
interface Device {
  readonly url: string;
  readonly token: string;
  readonly running: Map<string, number>;
  /** Those that have succeeded. */
  readonly ended: Set<string>;
  /** Groups of apps whose deployments have not come to their end. */
  readonly groups: Map<string, AppliedGroup>;
  /** What runs, by name. */
  readonly apps: Map<string, AppReport>;
  agentVersion: string;
  /** Updates of the agent that have not come to their end, with what waits for acknowledgements of their events. */
  readonly updates: Map<string, (seq: number) => void>;
}

function send(socket: WebSocket, frame: AgentFrame): void {
  socket.send(JSON.stringify(frame));
}

function sendEvent(socket: WebSocket, device: Device, deployment_id: string, device_seq: number): void {
  const { running, ended, groups } = device;
  const step = STEPS[device_seq - 1];
  if (!step) {
    running.delete(deployment_id);
    ended.add(deployment_id);
    const group = groups.get(deployment_id);
    groups.delete(deployment_id);
    // An agent reports what has changed once the end of the deployment is known.
    if (group) send(socket, reportOf(group, deployment_id, device.apps));
    return;
  }
  running.set(deployment_id, device_seq);
  send(socket, { type: "event", deployment_id, event: { ...step, device_seq, age_ms: 0 } });
}

/** Reports what has become of deployments. The service asks for those that it may have sent, before it sends them again. */
function answer(socket: WebSocket, { running, ended, updates }: Device, query_id: string, params: unknown): void {
  const ids = deploymentsParamsSchema.parse(params).deployment_ids;
  const statusOf = (id: string) => (ended.has(id) ? "Success" : running.has(id) || updates.has(id) ? "Running" : null);
  const deployments = ids.map((deployment_id) => ({ deployment_id, status: statusOf(deployment_id) }));
  send(socket, { type: "answer", query_id, body: { deployments } });
  send(socket, { type: "query_end", query_id });
}

/** Carries out every deployment without an engine. */
function serve(socket: WebSocket, device: Device, frame: ControlFrame): void {
  if (frame.type === "deploy") {
    send(socket, { type: "ack", deployment_id: frame.deployment_id });
    sendEvent(socket, device, frame.deployment_id, 1);
  }
  if (frame.type === "apply") {
    appliedAt.push(Date.now());
    device.groups.set(frame.deployment_id, frame.request as AppliedGroup);
    send(socket, { type: "ack", deployment_id: frame.deployment_id });
    sendEvent(socket, device, frame.deployment_id, 1);
  }
  if (frame.type === "update_agent") void updateAgent(socket, device, frame);
  if (frame.type === "query") answer(socket, device, frame.query_id, frame.params);
  if (frame.type === "event_ack") {
    const update = device.updates.get(frame.deployment_id);
    if (update) update(frame.device_seq);
    else sendEvent(socket, device, frame.deployment_id, frame.device_seq + 1);
  }
}

/** Fetches the release, and restarts into it: the device connects anew with the new version, which works at once. */
async function updateAgent(
  socket: WebSocket,
  device: Device,
  { deployment_id: id, request }: Extract<ControlFrame, { type: "update_agent" }>,
): Promise<void> {
  const { version = "", served } = agentUpdateSchema.parse(request);
  if (!served) throw new Error("the release is not served");
  const isAcknowledged = (seq: number): Promise<void> =>
    new Promise((resolve) => void device.updates.set(id, (acknowledged) => acknowledged >= seq && resolve()));
  const tell = (over: WebSocket, event: Omit<DeviceEvent, "age_ms">): void =>
    send(over, { type: "event", deployment_id: id, event: { ...event, age_ms: 0 } });
  const details = { version, waiting_s: 900 };
  const isStored = isAcknowledged(3);
  send(socket, { type: "ack", deployment_id: id });
  tell(socket, { device_seq: 1, status: "Running", step: "checking", message: "Checking the release." });
  const origin = new URL(device.url.replace(/^ws/, "http"));
  const bytes = await fetchRelease(origin, device.token, served);
  tell(socket, { device_seq: 2, status: "Running", step: "pulling", message: "The release is on the device." });
  tell(socket, { device_seq: 3, status: "Running", step: "starting", message: "The agent restarts.", details });
  await isStored;
  const closed = once(socket, "close");
  socket.close();
  await closed;
  device.agentVersion = version;
  const renewed = await connect(device, () => undefined);
  const isKnown = isAcknowledged(5);
  tell(renewed, { device_seq: 4, status: "Running", step: "verifying", message: "It runs on trial.", details });
  tell(renewed, { device_seq: 5, status: "Success", step: "done", message: "It works.", details: { version } });
  await isKnown;
  device.updates.delete(id);
  device.ended.add(id);
  updateBytes.push(bytes);
}

/** Resolves when the device is welcomed. `onClose` is called if the connection ends after that. */
async function connect(device: Device, onClose: () => void): Promise<WebSocket> {
  const { url, token, running, updates, agentVersion } = device;
  const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${token}` }, perMessageDeflate: false });
  sockets.add(socket);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on("error", reject);
  socket.on("close", (code) => {
    sockets.delete(socket);
    reject(new Error(`closed with ${code}`));
    void promise.then(onClose, () => undefined);
  });
  socket.on("open", () => {
    const deployments = [...running.keys(), ...updates.keys()].map((deployment_id) => ({ deployment_id }));
    send(socket, { type: "hello", protocol: PROTOCOL_VERSION, agent_version: agentVersion, deployments });
  });
  socket.on("message", (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as ControlFrame;
    if (frame.type !== "welcome") return serve(socket, device, frame);
    resolve();
    for (const [id, seq] of running) sendEvent(socket, device, id, seq);
  });
  await promise;
  return socket;
}

/** Connects a device that has lost its connection, as often and as late as an agent. */
function comeBack(device: Device, state: LinkState = INITIAL_LINK_STATE): void {
  if (isEnding) return;
  const lost = { kind: "failed", reason: "connection reset", isFleetWide: true } as const;
  const next = nextAttempt(state, lost, 0, backoff, (attempt, bounds) => fullJitter(attempt, bounds, Math.random()));
  setTimeout(() => {
    connect(device, () => comeBack(device)).then(
      () => returnedAt.set(device, Date.now()),
      () => comeBack(device, next.state),
    );
  }, next.delayMs);
}

/** Connects a device. A machine that is busy with other work may let a handshake time out, which a device tries again. */
async function connectFirst(device: Device, onClose: () => void): Promise<void> {
  for (let left = MAX_FIRST_TRIES; ; left--) {
    try {
      return void (await connect(device, onClose));
    } catch (error) {
      if (left <= 1) throw error;
    }
  }
}

async function connectAll(url: string, tokens: readonly string[], returns: boolean): Promise<void> {
  const waiting = tokens.values();
  const workers = Array.from({ length: CONCURRENT_CONNECTS }, async () => {
    for (const token of waiting) {
      const held = { running: new Map(), ended: new Set<string>(), groups: new Map(), apps: new Map() };
      const device: Device = { url, token, ...held, agentVersion: "0.0.0-bench", updates: new Map() };
      await connectFirst(device, () => (returns ? comeBack(device) : undefined));
    }
  });
  await Promise.all(workers);
}

async function disconnectAll(): Promise<void> {
  isEnding = true;
  await Promise.all(
    Array.from(sockets, async (socket) => {
      const closed = once(socket, "close");
      socket.terminate();
      await closed;
    }),
  );
  isEnding = false;
}

async function carryOut(order: FleetOrder): Promise<FleetReport> {
  if (order.type === "connect") await connectAll(order.url, order.tokens, order.returns);
  if (order.type === "disconnect") await disconnectAll();
  const report = { connected: sockets.size, returnedAt: [...returnedAt.values()], appliedAt, updateBytes };
  [appliedAt, updateBytes] = [[], []];
  return report;
}

process.on("message", (order: FleetOrder) => {
  // A failed connection ends the process, and the bench with it.
  void carryOut(order).then((report) => process.send?.(report));
});
