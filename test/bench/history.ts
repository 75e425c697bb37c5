import { readFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";
import { HealthSender } from "../../src/agent/link/health-sender.ts";
import { HealthReports } from "../../src/agent/telemetry/health-reports.ts";
import type { AppHealthRow } from "../../src/protocol/link/app-health.ts";
import type { HealthRow } from "../../src/protocol/link/health-points.ts";
import { PROTOCOL_VERSION } from "../../src/protocol/version.ts";
import { startControlPlane } from "../../scripts/system/control-plane.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { succeed } from "../support/command.ts";
import { BUSY, usedApps } from "../support/health-samples.ts";
import { loadImage, sleeperImage, uniqueName } from "../support/images.ts";
import { smallDisk } from "../support/small-disk.ts";
import { TcpRelay } from "../support/link/tcp-relay.ts";
import { tlsFront } from "../support/link/tls-front.ts";
import { tempDir } from "../support/temp-dir.ts";
import { waitFor } from "../support/wait-for.ts";
import { engineSocket } from "./engine-socket.ts";
import { processorMs, proportionalBytes } from "./process-usage.ts";
import { type Bench, atMost } from "./result.ts";
import { deployed, startSystem, type System } from "./system.ts";

const QUARTER_S = 900;
const WINDOW_PARTS = 10;
const ROW_MS = 300_000;
const ROWS_A_DAY = 288;
const APPS = 3;
const DISK_MB = 64;
const SECTOR_BYTES = 512;
/** Headers of IP and TCP with its options, of a segment and of its acknowledgement. */
const SEGMENT_BYTES = 2 * 52;

/**
 * What the history of a device with three apps costs: bytes on the link, by what the agent attributes to it and by a relay in
 * front of TLS, with the device's clock driven; and an agent that keeps one beside an agent that keeps none, at the same time, each on
 * a disk of its own, as an hour shows with `--minutes 60`.
 */
export const history: Bench = {
  name: "history",
  isOnRequest: true,
  async run({ quick, minutes }) {
    const link = await measureLink();
    const windowMs = quick ? 20_000 : (minutes ?? 10) * 60_000;
    const [on, off] = await measureAgents(windowMs, quick ? 2_000 : 75_000);
    const cpu = on.cpuPercent - off.cpuPercent;
    const megabytes = (on.pss - off.pss) / 1e6;
    const inAnHour = (written: number): string => `${((written / windowMs) * (3_600_000 / 1024)).toFixed(0)} KiB`;
    const { messages } = link;
    const onWire = link.relayed + messages * SEGMENT_BYTES;
    return {
      data: { link, windowMs, on, off },
      rows: [
        {
          what: `history of a busy device, ${APPS} apps: attributed, ${messages} messages`,
          value: perDay(link.attributed),
          target: atMost(1_500, "B", link.attributed),
        },
        { what: "the same with WebSocket and TLS, by a relay", value: perDay(link.relayed) },
        {
          what: "the same with headers of TCP and IP, computed, if each is alone in its packet",
          value: perDay(onWire),
        },
        {
          what: `agent idle, ${APPS} apps: processor over ${windowMs / 1000} s`,
          value: `${on.cpuPercent.toFixed(3)} %`,
          reference: `without history: ${off.cpuPercent.toFixed(3)} %`,
          target: atMost(0.02, "% more", cpu),
        },
        {
          what: "the same: memory (PSS)",
          value: `${(on.pss / 1e6).toFixed(1)} MB`,
          reference: `without history: ${(off.pss / 1e6).toFixed(1)} MB`,
          target: atMost(0.5, "MB more", megabytes),
        },
        {
          what: "the same: written by the agent in an hour, from the window",
          value: inAnHour(on.written),
          reference: `without history: ${inAnHour(off.written)}`,
        },
        {
          what: "the same: written to its disk, ext4 with its journal, in an hour",
          value: inAnHour(on.onDisk),
          reference: `without history: ${inAnHour(off.onDisk)}`,
        },
      ],
    };
  },
};

const perDay = (bytes: number): string => `${bytes} B a day`;

interface LinkCost {
  readonly messages: number;
  readonly attributed: number;
  readonly relayed: number;
}

/** Sends the history of a day, hour by hour, over TLS to a real service, which must then have it. */
async function measureLink(): Promise<LinkCost> {
  await using owner = new AsyncDisposableStack();
  const folder = owner.use(await tempDir()).path;
  const control = owner.use(await startControlPlane(folder));
  const registration = await control.register("bench", "BENCH-1");
  const front = owner.use(await tlsFront(folder, "127.0.0.1", control.url));
  const relay = owner.use(await TcpRelay.to(front.port));
  const socket = await connect(`wss://127.0.0.1:${relay.port}/v1/agent`, registration.deviceToken, front.caFile);
  owner.defer(() => socket.terminate());

  const startS = (Math.floor(Date.now() / 1000 / QUARTER_S) - 27 * 4) * QUARTER_S;
  const clock = new FakeClock(startS * 1000);
  const rows: HealthRow[] = [];
  const apps: AppHealthRow[] = [];
  const ring = { rows: () => rows };
  const health = new HealthReports({ ring, apps: { rows: () => apps }, perDay: 24, clock, random: () => 0 });
  const sizes: number[] = [];
  const send = (bytes: Uint8Array): void => {
    sizes.push(bytes.length);
    socket.send(bytes);
  };
  using _sender = new HealthSender({ health, clock, send, confirmedAt: startS - QUARTER_S });
  const passTime = async (count: number): Promise<void> => {
    for (let number = 0; number < count; number++) {
      if (rows.length % 3 === 0) apps.push({ at: clock.now() / 1000, apps: usedApps("busy") });
      await clock.advance(ROW_MS);
      const row = { at: Math.floor(clock.now() / 1000), spreads: BUSY(rows.length) };
      rows.push(row);
      health.onRow(row);
      await untilRelayed(socket);
    }
  };
  // The first messages name the apps.
  await passTime(24);
  const storedBefore = await untilStored(control.url, registration, startS);
  const [before, bytesBefore] = [sizes.length, relay.bytes];
  await passTime(ROWS_A_DAY);
  await untilStored(control.url, registration, storedBefore + 86_400 - 2 * 3_600);
  const sent = sizes.slice(before);
  return {
    messages: sent.length,
    attributed: sent.reduce((sum, size) => sum + size, 0),
    relayed: relay.bytes - bytesBefore,
  };
}

async function connect(url: string, token: string, caFile: string): Promise<WebSocket> {
  const ca = await readFile(caFile);
  const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${token}` }, ca, perMessageDeflate: false });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const welcomed = new Promise((resolve) => socket.once("message", resolve));
  socket.send(
    JSON.stringify({ type: "hello", protocol: PROTOCOL_VERSION, agent_version: "0.0.0-bench", deployments: [] }),
  );
  await welcomed;
  return socket;
}

async function untilRelayed(socket: WebSocket): Promise<void> {
  while (socket.bufferedAmount > 0) await sleep(1);
}

/** Resolves with the newest row at the service, and the apps with it, when there is one after this time. */
async function untilStored(
  url: string,
  { serialNumber, apiKey }: System["registration"],
  afterS: number,
): Promise<number> {
  let newest = 0;
  await waitFor("the history at the service", async () => {
    const address = `${url}/v1/assets/${serialNumber}/health?source=service&apps=true&points=200&from=${afterS - 7_200}`;
    const response = await fetch(address, { headers: { "X-API-Key": apiKey } });
    const body = (await response.json()) as {
      readonly at?: readonly number[];
      readonly apps?: { readonly apps: readonly unknown[] };
    };
    newest = body.at?.at(-1) ?? 0;
    return newest > afterS && body.apps?.apps.length === APPS;
  });
  return newest;
}

interface AgentCost {
  readonly cpuPercent: number;
  readonly pss: number;
  readonly written: number;
  readonly onDisk: number;
}

/** An agent with a history and one without, each with three apps. */
async function measureAgents(windowMs: number, settleMs: number): Promise<readonly [on: AgentCost, off: AgentCost]> {
  await using image = await loadImage(await engineSocket(), await sleeperImage(), "bench");
  await using diskOn = await smallDisk(DISK_MB, true);
  await using diskOff = await smallDisk(DISK_MB, true);
  const disks = [diskOn.path, diskOff.path] as const;
  await using on = await startSystem({ telemetry: { health: true } }, { deviceFolder: diskOn.path });
  await using off = await startSystem({ telemetry: { health: false } }, { deviceFolder: diskOff.path });
  const systems = [on, off] as const;
  for (const { target } of systems)
    for (let app = 0; app < APPS; app++)
      await deployed(target, { name: uniqueName(`history${app}`), image: image.reference });
  await sleep(settleMs);
  const pids = systems.map(({ agent }) => agent.pid);
  const onDiskBefore = [await bytesOnDisk(disks[0]), await bytesOnDisk(disks[1])];
  const before = pids.map((pid) => ({ cpu: processorMs(pid), written: writtenBytes(pid) }));
  // The lowest, which is what stays after a collection of garbage.
  const pss = pids.map(() => Infinity);
  for (let part = 0; part < WINDOW_PARTS; part++) {
    await sleep(windowMs / WINDOW_PARTS);
    for (const [index, pid] of pids.entries()) pss[index] = Math.min(pss[index] ?? Infinity, proportionalBytes(pid));
  }
  const onDisk = [await bytesOnDisk(disks[0]), await bytesOnDisk(disks[1])];
  const [withHistory, without] = pids.map((pid, index): AgentCost => ({
    cpuPercent: ((processorMs(pid) - (before[index]?.cpu ?? 0)) / windowMs) * 100,
    written: writtenBytes(pid) - (before[index]?.written ?? 0),
    onDisk: (onDisk[index] ?? Number.NaN) - (onDiskBefore[index] ?? 0),
    pss: pss[index] ?? Number.NaN,
  }));
  if (!withHistory || !without) throw new Error("an agent is missing");
  return [withHistory, without];
}

/** Bytes that were written to the device of a file system, with what was waiting for it. */
async function bytesOnDisk(path: string): Promise<number> {
  await succeed("sync", ["--file-system", path]);
  const { dev } = statSync(path);
  // The numbers of the device, as in makedev(3).
  const number = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`;
  const [, , , , , , sectors] = readFileSync(`/sys/dev/block/${number}/stat`, "utf8").trim().split(/\s+/);
  return Number(sectors) * SECTOR_BYTES;
}

/** Bytes that a process has written to storage. */
function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}
