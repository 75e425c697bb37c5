import { once } from "node:events";
import { WebSocket } from "ws";
import type { AgentFrame, ControlFrame } from "../../../src/protocol/frames.ts";
import type { DeviceEvent } from "../../../src/protocol/deployment-event.ts";
import { PROTOCOL_VERSION } from "../../../src/protocol/version.ts";

/** Messages to this process. `connect` gets a reply when all devices are connected, `disconnect` when none is. */
export type FleetOrder =
  | { readonly type: "connect"; readonly url: string; readonly tokens: readonly string[] }
  | { readonly type: "disconnect" };

/** Its reply. */
export interface FleetReport {
  readonly connected: number;
}

/** Devices that connect at a time. */
const CONCURRENT_CONNECTS = 64;

/** The events of a deployment as a device sends them, each when the one before is acknowledged. */
const STEPS: readonly Pick<DeviceEvent, "status" | "step" | "message">[] = [
  { status: "Running", step: "checking", message: "Checking the request." },
  { status: "Running", step: "pulling", message: "Pulling image: 43% (12.3 of 28.5 MB)." },
  { status: "Running", step: "creating", message: "Creating the container." },
  { status: "Running", step: "starting", message: "Starting the app." },
  { status: "Running", step: "verifying", message: "Verifying that the app stays up." },
  { status: "Success", step: "done", message: "App web is running." },
];

const sockets = new Set<WebSocket>();

function send(socket: WebSocket, frame: AgentFrame): void {
  socket.send(JSON.stringify(frame));
}

function sendEvent(socket: WebSocket, deployment_id: string, device_seq: number): void {
  const step = STEPS[device_seq - 1];
  if (step) send(socket, { type: "event", deployment_id, event: { ...step, device_seq, age_ms: 0 } });
}

/** Carries out every deployment without an engine. */
function serve(socket: WebSocket, frame: ControlFrame): void {
  if (frame.type === "deploy") {
    send(socket, { type: "ack", deployment_id: frame.deployment_id });
    sendEvent(socket, frame.deployment_id, 1);
  }
  if (frame.type === "event_ack") sendEvent(socket, frame.deployment_id, frame.device_seq + 1);
}

/** Resolves when the device is welcomed. */
async function connect(url: string, token: string): Promise<void> {
  const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${token}` }, perMessageDeflate: false });
  sockets.add(socket);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.on("error", reject);
  socket.on("close", (code) => {
    sockets.delete(socket);
    reject(new Error(`closed with ${code}`));
  });
  socket.on("open", () => {
    send(socket, { type: "hello", protocol: PROTOCOL_VERSION, agent_version: "0.0.0-bench", deployments: [] });
  });
  socket.on("message", (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as ControlFrame;
    if (frame.type === "welcome") resolve();
    else serve(socket, frame);
  });
  await promise;
}

async function connectAll(url: string, tokens: readonly string[]): Promise<void> {
  const waiting = tokens.values();
  const workers = Array.from({ length: CONCURRENT_CONNECTS }, async () => {
    for (const token of waiting) await connect(url, token);
  });
  await Promise.all(workers);
}

async function disconnectAll(): Promise<void> {
  await Promise.all(
    Array.from(sockets, async (socket) => {
      const closed = once(socket, "close");
      socket.terminate();
      await closed;
    }),
  );
}

process.on("message", (order: FleetOrder) => {
  const done = order.type === "connect" ? connectAll(order.url, order.tokens) : disconnectAll();
  // A failed connection ends the process, and the bench with it.
  void done.then(() => process.send?.({ connected: sockets.size } satisfies FleetReport));
});
