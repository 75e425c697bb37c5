import { setTimeout as sleep } from "node:timers/promises";
import { MAX_FRAME_BYTES } from "../../../src/protocol/limits.ts";
import { FakeDevice } from "../../support/fake-device.ts";

/** Message to this process: what to flood a service with, until the next message. */
export interface FloodOrder {
  readonly name: string;
  readonly port: number;
  /** Of a device and a key of the account that floods. */
  readonly deviceToken: string;
  readonly apiKey: string;
  readonly asset: string;
}

type Flood = (order: FloodOrder, signal: AbortSignal) => Promise<void>;

const MIB = MAX_FRAME_BYTES;
/** Requests at the same time. */
const PARALLEL = 4;
/** Most connections that never read. */
const READERS = 200;

/** A JSON object of about `bytes` with the maximum number of entries. */
function manyKeys(bytes: number): string {
  const entries: string[] = [];
  for (let length = 2, index = 0; length < bytes - 16; index++) {
    const entry = `"${index.toString(36)}":0`;
    entries.push(entry);
    length += entry.length + 1;
  }
  return `{${entries.join(",")}}`;
}

const app = {
  name: "web",
  image: "web:1",
  image_digest: null,
  state: "running",
  desired_state: "running",
  since: null,
  restarts: 0,
  spec: {},
  last_deployment: null,
};
const report = JSON.stringify({ type: "report", base: null, hash: "0".repeat(64), apps: [app], removed_apps: [] });
const wideReport = report.replace('"spec":{}', `"spec":${manyKeys(MIB - report.length - 1_000)}`);
const event = { type: "event", deployment_id: "dep_none" };

const validReport = report.replace('"spec":{}', `"spec":${manyKeys(MIB / 2)}`);
/** A request with as many values as one may have, most of them wrong. */
const deployment = `{"name":"web","image":"web:1","labels":${manyKeys(280_000)}}`;

/** Frames, by what is dear about them. Each is sent as often as the service takes it, over reconnects. */
const FRAMES: Readonly<Record<string, string | Buffer>> = {
  "reports of 110,000 keys": wideReport,
  "valid reports of 45,000 keys": validReport,
  "frames of 350,000 numbers": JSON.stringify({
    type: "answer",
    query_id: "q",
    body: Array.from({ length: 350_000 }, () => 1),
  }),
  "frames of a type that is not known": `{"type":"newer","body":${manyKeys(MIB / 2)}}`,
  "frames that nest": `{"type":"answer","query_id":"q","body":${"[".repeat(500_000)}${"]".repeat(500_000)}}`,
  "frames that are no JSON": "x".repeat(MIB),
  "binary frames": Buffer.alloc(MIB),
  "events of 30 kB": JSON.stringify({
    ...event,
    event: { device_seq: 1, status: "Running", message: "m", step: "pulling", details: { log: "€".repeat(10_000) } },
  }),
};

function frames(name: string): Flood {
  return async ({ port, deviceToken }, signal) => {
    const frame = FRAMES[name] ?? "";
    while (!signal.aborted) {
      await using device = await FakeDevice.connect(`ws://127.0.0.1:${port}/v1/agent`, deviceToken).catch(
        () => undefined,
      );
      // Refused for a moment after many attempts.
      if (!device) await sleep(20);
      else await sendUntilClosed(device, frame, signal);
    }
  };
}

async function sendUntilClosed(device: FakeDevice, frame: string | Buffer, signal: AbortSignal): Promise<void> {
  while (!device.isClosed && !signal.aborted) {
    device.send(frame);
    await device.flushed();
  }
}

function bodies(body: string, headers: (order: FloodOrder) => Record<string, string>): Flood {
  return async (order, signal) => {
    const url = `http://127.0.0.1:${order.port}/v1/assets/${order.asset}/edge/apps`;
    const post = async (): Promise<void> => {
      const init = { method: "POST", body, headers: { "Content-Type": "application/json", ...headers(order) } };
      await fetch(url, { ...init, signal }).then((response) => response.text());
    };
    while (!signal.aborted) await Promise.all(Array.from({ length: PARALLEL }, () => post().catch(() => sleep(5))));
  };
}

function requests(headers: (order: FloodOrder) => Record<string, string>): Flood {
  return async (order, signal) => {
    const url = `http://127.0.0.1:${order.port}/v1/overview`;
    const get = (): Promise<unknown> =>
      fetch(url, { headers: headers(order), signal }).then((response) => response.text());
    while (!signal.aborted) await Promise.all(Array.from({ length: PARALLEL }, () => get().catch(() => sleep(5))));
  };
}

/** Connects as the device, again and again. */
async function connections({ port, deviceToken }: FloodOrder, signal: AbortSignal): Promise<void> {
  const connect = async (): Promise<void> => {
    const device = await FakeDevice.connect(`ws://127.0.0.1:${port}/v1/agent`, deviceToken).catch(() => sleep(5));
    await device?.cut();
  };
  while (!signal.aborted) await Promise.all(Array.from({ length: PARALLEL }, connect));
}

/** Opens event streams and reads none of them. */
async function unreadStreams({ port, apiKey }: FloodOrder, signal: AbortSignal): Promise<void> {
  const url = `http://127.0.0.1:${port}/v1/events`;
  const open = (): Promise<unknown> => fetch(url, { headers: { "X-API-Key": apiKey }, signal }).catch(() => {});
  const responses = await Promise.all(Array.from({ length: READERS }, open));
  while (!signal.aborted) await sleep(20);
  responses.length = 0;
}

const withKey = ({ apiKey }: FloodOrder): Record<string, string> => ({ "X-API-Key": apiKey });

const FLOODS: Readonly<Record<string, Flood>> = {
  ...Object.fromEntries(Object.keys(FRAMES).map((name) => [name, frames(name)])),
  "bodies of 110,000 keys": bodies(manyKeys(MIB - 16), withKey),
  "the same without a key": bodies(manyKeys(MIB - 16), () => ({})),
  "bodies at their limits": bodies(deployment, withKey),
  "requests with a wrong key": requests(() => ({ "X-API-Key": "ek_wrong" })),
  "connections of a device": connections,
  "streams that nobody reads": unreadStreams,
};

/** Names of the floods. */
export const FLOOD_NAMES: readonly string[] = Object.keys(FLOODS);

let running: { readonly controller: AbortController; readonly ended: Promise<void> } | undefined;

async function change(order: FloodOrder | "stop"): Promise<void> {
  running?.controller.abort();
  await running?.ended;
  running = undefined;
  if (order !== "stop") {
    const controller = new AbortController();
    const flood = FLOODS[order.name];
    if (!flood) throw new Error(`there is no flood ${order.name}`);
    running = { controller, ended: flood(order, controller.signal) };
  }
  process.send?.("changed");
}

process.on("message", (order: FloodOrder | "stop") => void change(order));
