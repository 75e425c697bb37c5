import { join } from "node:path";
import { startProgram } from "../../../scripts/system/program.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { milliseconds } from "../measure.ts";
import { processorMs, settledBytes } from "../process-usage.ts";
import { type Bench, type Row, atMost } from "../result.ts";
import { DeploymentLoad } from "./deployment-load.ts";
import { metricsRow, readMetrics } from "./metrics-read.ts";
import { percentile } from "./percentile.ts";
import { addAccount, prepareData, startService, withStore } from "./service.ts";
import { addDevices, type SimulatedFleet, startFleet } from "./simulated-fleet.ts";

const DEVICES = 9_500;
const DEVICE_PROCESSES = 4;
const CONCURRENT_DEPLOYMENTS = 32;
const REQUESTS_PER_SECOND = 100;

const MAX_KIB_PER_DEVICE = 12;
const MAX_CONNECT_MS = 0.3;
const MAX_DEPLOYMENT_MS = 1.5;
const MIN_DEPLOYMENTS_PER_S = 500;
const MAX_FIRST_EVENT_MS = 50;

/** What a server needs for a fleet that connects and is then idle. */
interface Connected {
  readonly ms: number;
  /** Of one device. */
  readonly processorMs: number;
  /** Of one device. */
  readonly kib: number;
}

/**
 * A fleet on one service: what connecting costs, what a connected device costs beside a bare WebSocket server with the same
 * devices, and what deployments cost and how fast their events arrive. The devices carry out every deployment at once, with
 * six events.
 */
export const fleet: Bench = {
  name: "fleet",
  async run({ quick }) {
    await using owner = new AsyncDisposableStack();
    const devices = quick ? 1_000 : DEVICES;
    const settleMs = quick ? 2_000 : 20_000;
    const folder = owner.use(await tempDir()).path;
    const { accountId, apiKey } = await withStore(folder, addAccount);
    const tokens = addDevices((await prepareData(folder)).database, accountId, devices);
    const simulated = owner.use(startFleet(tokens, DEVICE_PROCESSES));

    const args = ["test/bench/service/bare-websocket-process.ts"];
    const bareServer = owner.use(startProgram("dist/node", args, { log: join(folder, "bare.log") }));
    const { port } = await bareServer.waitForMessage("listening");
    const bare = await connect(simulated, bareServer.pid, Number(port), devices, settleMs);
    await simulated.disconnect();
    await bareServer[Symbol.asyncDispose]();

    const service = owner.use(await startService(folder));
    const ours = await connect(simulated, service.pid, service.port, devices, settleMs);
    const load = owner.use(new DeploymentLoad([service], apiKey, devices));
    await load.deployMany(quick ? 50 : 1_000, CONCURRENT_DEPLOYMENTS);

    const deployments = quick ? 200 : 10_000;
    const before = processorMs(service.pid);
    const start = performance.now();
    const times = await load.deployMany(deployments, CONCURRENT_DEPLOYMENTS);
    const tookMs = performance.now() - start;
    const busy = {
      perSecond: (deployments / tookMs) * 1000,
      processorMs: (processorMs(service.pid) - before) / deployments,
      p99Ms: percentile(
        times.map(({ endMs }) => endMs),
        99,
      ),
    };
    const steady = await load.deployAt(REQUESTS_PER_SECOND, quick ? 3_000 : 60_000);
    const firsts = steady.map(({ firstMs }) => firstMs);
    const firstEventMs = { p50: percentile(firsts, 50), p99: percentile(firsts, 99) };
    await simulated.disconnect();
    await service[Symbol.asyncDispose]();
    const metrics = await readMetrics(folder, simulated);
    return {
      data: { devices, bare, ours, deployments, busy, steady: { requests: steady.length, ...firstEventMs }, metrics },
      rows: [
        ...connectRows(devices, ours, bare),
        ...deploymentRows(devices, busy, firstEventMs),
        metricsRow(devices, metrics),
      ],
    };
  },
};

async function connect(
  simulated: SimulatedFleet,
  pid: number,
  port: number,
  devices: number,
  settleMs: number,
): Promise<Connected> {
  const idleBytes = await settledBytes(pid, settleMs);
  const before = processorMs(pid);
  const ms = await milliseconds(() => simulated.connect(`ws://127.0.0.1:${port}/v1/agent`));
  const usedMs = processorMs(pid) - before;
  const kib = ((await settledBytes(pid, settleMs)) - idleBytes) / devices / 1024;
  return { ms, processorMs: usedMs / devices, kib };
}

function connectRows(devices: number, ours: Connected, bare: Connected): Row[] {
  const what = `edge-control: ${devices} devices`;
  return [
    {
      what: `${what} connected`,
      value: `${(ours.ms / 1000).toFixed(1)} s`,
      reference: `bare ws: ${(bare.ms / 1000).toFixed(1)} s`,
      ratio: ours.ms / bare.ms,
    },
    {
      what: `${what}: processor time to connect one`,
      value: inProcessorTime(ours.processorMs),
      reference: `bare ws: ${inProcessorTime(bare.processorMs)}`,
      ratio: ours.processorMs / bare.processorMs,
      target: atMost(MAX_CONNECT_MS, "ms", ours.processorMs),
    },
    {
      what: `${what}: memory of one`,
      value: `${ours.kib.toFixed(1)} KiB`,
      reference: `bare ws: ${bare.kib.toFixed(1)} KiB`,
      ratio: ours.kib / bare.kib,
      target: atMost(MAX_KIB_PER_DEVICE, "KiB", ours.kib),
    },
  ];
}

interface Busy {
  readonly perSecond: number;
  readonly processorMs: number;
  readonly p99Ms: number;
}

function deploymentRows(
  devices: number,
  { perSecond, processorMs: usedMs, p99Ms }: Busy,
  firstEventMs: { readonly p50: number; readonly p99: number },
): Row[] {
  const what = `edge-control: ${CONCURRENT_DEPLOYMENTS} deployments at a time`;
  return [
    {
      what: `${what}, 6 device events each`,
      value: `${perSecond.toFixed(0)}/s, p99 ${p99Ms.toFixed(0)} ms`,
      target: { text: `at least ${MIN_DEPLOYMENTS_PER_S}/s`, met: perSecond >= MIN_DEPLOYMENTS_PER_S },
    },
    {
      what: `${what}: processor time of one`,
      value: inProcessorTime(usedMs),
      target: atMost(MAX_DEPLOYMENT_MS, "ms", usedMs),
    },
    {
      what: `edge-control: first device event at ${REQUESTS_PER_SECOND} requests/s, ${devices} devices, p99`,
      value: `${firstEventMs.p99.toFixed(0)} ms`,
      reference: `median: ${firstEventMs.p50.toFixed(0)} ms`,
      target: atMost(MAX_FIRST_EVENT_MS, "ms", firstEventMs.p99),
    },
  ];
}

const inProcessorTime = (ms: number): string => `${ms.toFixed(2)} ms`;
