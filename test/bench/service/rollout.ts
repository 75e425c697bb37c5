import { setTimeout as sleep } from "node:timers/promises";
import { tempDir } from "../../support/temp-dir.ts";
import { milliseconds } from "../measure.ts";
import { processorMs, settledBytes } from "../process-usage.ts";
import { type Bench, type Row, atMost, inMilliseconds } from "../result.ts";
import { DeploymentLoad } from "./deployment-load.ts";
import { percentile } from "./percentile.ts";
import { RolloutClient } from "./rollout-client.ts";
import { addAccount, prepareData, startService, withStore } from "./service.ts";
import { addDevices, type SimulatedFleet, startFleet, tagAll } from "./simulated-fleet.ts";

const DEVICES = 10_000;
const DEVICE_PROCESSES = 4;
const MAX_PARALLEL = 500;
const CONCURRENT_REQUESTS = 32;
/** What was begun before a pause ends within this time. */
const AFTER_PAUSE_MS = 3_000;

const MIN_TARGETS_PER_S = 300;
const MAX_COST_RATIO = 1.2;
const MAX_KIB_PER_TARGET = 2;
const MAX_ENTER_MS = 50;

/** What one rollout needs of the service. */
interface Round {
  readonly enterMs: number;
  readonly perSecond: number;
  /** Of one target. */
  readonly processorMs: number;
  /** More than before it, after it has ended, of one target. */
  readonly kib: number;
}

/**
 * Rollouts to a fleet whose devices carry out everything at once, with six events and a report: how fast they go, what a target
 * costs beside the same deployment requested directly, and whether a pause is one.
 */
export const rollout: Bench = {
  name: "rollout",
  async run({ quick }) {
    await using owner = new AsyncDisposableStack();
    const devices = quick ? 500 : DEVICES;
    const settleMs = quick ? 2_000 : 20_000;
    // Fewer than the targets, so that a pause finds some that have not begun.
    const maxParallel = Math.min(MAX_PARALLEL, devices / 10);
    const folder = owner.use(await tempDir()).path;
    const { accountId, apiKey } = await withStore(folder, addAccount);
    const { database } = await prepareData(folder);
    const tokens = addDevices(database, accountId, devices);
    tagAll(database, accountId, "role", "kiosk");
    const simulated = owner.use(startFleet(tokens, DEVICE_PROCESSES));
    const service = owner.use(await startService(folder));
    await simulated.connect(`ws://127.0.0.1:${service.port}/v1/agent`);
    const client = new RolloutClient(service, apiKey);
    await client.createFleet("role=kiosk", maxParallel);
    const load = owner.use(new DeploymentLoad([service], apiKey, devices, {}, "direct"));

    const direct: number[] = [];
    const rounds: Round[] = [];
    // The first of each warms the service up.
    for (let round = 0; round < (quick ? 2 : 3); round++) {
      const before = processorMs(service.pid);
      await load.deployMany(devices, CONCURRENT_REQUESTS);
      direct.push((processorMs(service.pid) - before) / devices);
      rounds.push(await rollOut(client, simulated, service.pid, devices, settleMs));
    }
    const begunAfterPause = await pause(client, simulated, devices);
    await simulated.disconnect();
    const [median, rest] = [middle(direct.slice(1)), rounds.slice(1)];
    return {
      data: { devices, direct, rounds, begunAfterPause },
      rows: toRows(`${devices} devices, ${maxParallel} at a time`, median, rest, begunAfterPause),
    };
  },
};

async function rollOut(
  client: RolloutClient,
  simulated: SimulatedFleet,
  pid: number,
  devices: number,
  settleMs: number,
): Promise<Round> {
  const id = await client.draft();
  await simulated.appliedAt();
  const bytes = await settledBytes(pid, settleMs);
  const used = processorMs(pid);
  const startedAt = Date.now();
  const ms = await milliseconds(async () => {
    await client.command(id, "resume");
    await client.succeeded(id);
  });
  const costMs = (processorMs(pid) - used) / devices;
  const applied = await simulated.appliedAt();
  if (applied.length !== devices) throw new Error(`${applied.length} deployments for ${devices} targets`);
  return {
    enterMs: applied.reduce((first, at) => Math.min(first, at), Infinity) - startedAt,
    perSecond: (devices / ms) * 1000,
    processorMs: costMs,
    kib: ((await settledBytes(pid, settleMs)) - bytes) / devices / 1024,
  };
}

/** Pauses a rollout in its midst. Returns how many targets began after the answer. */
async function pause(client: RolloutClient, simulated: SimulatedFleet, devices: number): Promise<number> {
  const id = await client.draft();
  await simulated.appliedAt();
  await client.command(id, "resume");
  for (let begun = 0; begun < devices / 10; begun += (await simulated.appliedAt()).length) await sleep(5);
  const paused = await client.command(id, "pause");
  const { counts: after } = paused;
  await sleep(AFTER_PAUSE_MS);
  const { state, counts } = await client.read(id);
  const left = counts.pending ?? 0;
  if (state !== "paused" || left === 0)
    throw new Error(`nothing was left to pause: ${state} ${JSON.stringify(counts)}`);
  return (after.pending ?? 0) - left;
}

const middle = (values: readonly number[]): number => percentile(values, 50);

function toRows(size: string, directMs: number, rounds: readonly Round[], begunAfterPause: number): Row[] {
  const what = `edge-control: rollout to ${size}`;
  const perSecond = middle(rounds.map((round) => round.perSecond));
  const costMs = middle(rounds.map((round) => round.processorMs));
  const kib = middle(rounds.map((round) => round.kib));
  const enterMs = middle(rounds.map((round) => round.enterMs));
  const ratio = costMs / directMs;
  return [
    {
      what: `${what}: targets from the start to success`,
      value: `${perSecond.toFixed(0)}/s`,
      target: { text: `at least ${MIN_TARGETS_PER_S}/s`, met: perSecond >= MIN_TARGETS_PER_S },
    },
    {
      what: `${what}: processor time of a target`,
      value: `${costMs.toFixed(2)} ms`,
      reference: `requested directly: ${directMs.toFixed(2)} ms`,
      ratio,
      target: { text: `at most ${MAX_COST_RATIO}x`, met: ratio <= MAX_COST_RATIO },
    },
    {
      what: `${what}: memory of a target after it`,
      value: `${kib.toFixed(1)} KiB`,
      target: atMost(MAX_KIB_PER_TARGET, "KiB", kib),
    },
    {
      what: `${what}: from its start to the first device`,
      value: inMilliseconds(enterMs),
      target: atMost(MAX_ENTER_MS, "ms", enterMs),
    },
    {
      what: `${what}: targets that begin after a pause was answered`,
      value: `${begunAfterPause}`,
      target: { text: "none", met: begunAfterPause === 0 },
    },
  ];
}
