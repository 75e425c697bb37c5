import { join } from "node:path";
import { tempDir } from "../../support/temp-dir.ts";
import { median } from "../measure.ts";
import { processorMs } from "../process-usage.ts";
import { type Bench, type Row, atMost } from "../result.ts";
import { DeploymentLoad, type DeploymentTimes } from "./deployment-load.ts";
import { percentile } from "./percentile.ts";
import { type Service, startService } from "./service.ts";
import { prepareFleet, SharedDatabase } from "./shared-database.ts";
import { startFleet } from "./simulated-fleet.ts";

const DEVICES = 2_000;
const CONCURRENT_DEPLOYMENTS = 32;
const REQUESTS_PER_SECOND = 100;

/** A machine that does not keep up makes deployments slow, and does not fail them. */
const OPTIONS = { "ack-timeout-s": "600" };

const MAX_SHARED_TO_SQLITE = 2;
const MAX_TWO_TO_ONE = 1.15;

/** One way to serve a fleet. */
interface Way extends AsyncDisposable {
  readonly name: string;
  readonly load: DeploymentLoad;
  readonly services: readonly Service[];
}

/** What one turn of the same deployments cost. */
interface Turn {
  readonly perSecond: number;
  /** Of one deployment, of all instances. */
  readonly processorMs: number;
  /** When the first event that a device sent arrived, for each deployment. */
  readonly firstMs: readonly number[];
}

/**
 * The same deployments by turns on one process with SQLite, on one instance with PostgreSQL and NATS, and on two instances.
 * Devices and clients are spread over both, so that half of the requests are for devices of the other one. Processor time is
 * that of the service alone, without database and NATS; each commit is on disk in all three.
 */
export const fleetShared: Bench = {
  name: "fleet-shared",
  async run({ quick }) {
    await using owner = new AsyncDisposableStack();
    const folder = owner.use(await tempDir()).path;
    const devices = quick ? 200 : DEVICES;
    const ways: Way[] = [];
    for (const [name, instances] of [
      ["SQLite", 0],
      ["PostgreSQL and NATS, one instance", 1],
      ["PostgreSQL and NATS, two instances", 2],
    ] as const) {
      ways.push(owner.use(await startWay(join(folder, String(instances)), name, instances, devices)));
    }
    for (const { load } of ways) await load.deployMany(quick ? 50 : 1_000, CONCURRENT_DEPLOYMENTS);
    const busyRounds = quick ? 1 : 7;
    const busy = await byTurns(busyRounds, ways, (way) =>
      measure(way, ({ load }) => load.deployMany(quick ? 100 : 1_000, CONCURRENT_DEPLOYMENTS)),
    );
    const steady = await byTurns(quick ? 1 : 4, ways, (way) =>
      measure(way, ({ load }) => load.deployAt(REQUESTS_PER_SECOND, quick ? 2_000 : 10_000)),
    );
    const results = ways.map(({ name }, index) => ({ name, busy: busy[index] ?? [], steady: steady[index] ?? [] }));
    return { data: { devices, results: results.map(summary) }, rows: rows(results) };
  },
};

async function startWay(folder: string, name: string, instances: number, devices: number): Promise<Way> {
  await using owned = new AsyncDisposableStack();
  const { apiKey, tokens } = await prepareFleet(folder, devices);
  const services: Service[] = [];
  if (instances === 0) {
    services.push(owned.use(await startService(folder, OPTIONS)));
  } else {
    const database = owned.use(await SharedDatabase.copyOf(folder, OPTIONS));
    for (let started = 0; started < instances; started++) services.push(await database.startInstance());
  }
  for (const [index, { port }] of services.entries()) {
    const own = tokens.filter((_, device) => device % services.length === index);
    // Stopped before the services, which would otherwise ask the devices to come back.
    const fleet = owned.use(startFleet(own, 2 / services.length));
    await fleet.connect(`ws://127.0.0.1:${port}/v1/agent`);
  }
  const load = owned.use(new DeploymentLoad(services, apiKey, devices));
  const kept = owned.move();
  return { name, load, services, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Lets each way have its turn in each round, in an order that reverses, and returns what each has measured. */
async function byTurns<T>(rounds: number, ways: readonly Way[], turn: (way: Way) => Promise<T>): Promise<T[][]> {
  const results: T[][] = ways.map(() => []);
  for (let round = 0; round < rounds; round++) {
    const inOrder = round % 2 === 0 ? [...ways.entries()] : [...ways.entries()].toReversed();
    for (const [index, way] of inOrder) results[index]?.push(await turn(way));
  }
  return results;
}

async function measure(way: Way, deploy: (way: Way) => Promise<readonly DeploymentTimes[]>): Promise<Turn> {
  const used = (): number => way.services.reduce((sum, { pid }) => sum + processorMs(pid), 0);
  const before = used();
  const start = performance.now();
  const times = await deploy(way);
  const tookMs = performance.now() - start;
  return {
    perSecond: (times.length / tookMs) * 1000,
    processorMs: (used() - before) / times.length,
    firstMs: times.map(({ firstMs }) => firstMs),
  };
}

interface Result {
  readonly name: string;
  /** So many deployments at a time. */
  readonly busy: readonly Turn[];
  /** So many requests a second. */
  readonly steady: readonly Turn[];
}

const costs = (turns: readonly Turn[]): number[] => turns.map(({ processorMs: ms }) => ms);
const firstEventP99 = (turns: readonly Turn[]): number =>
  percentile(
    turns.flatMap(({ firstMs }) => firstMs),
    99,
  );

function summary({ name, busy, steady }: Result) {
  const rates = busy.map(({ perSecond }) => perSecond);
  return { name, perSecond: rates, busyMs: costs(busy), steadyMs: costs(steady), firstP99Ms: firstEventP99(steady) };
}

function rows([sqlite, one, two]: readonly Result[]): Row[] {
  if (!sqlite || !one || !two) throw new Error("three ways to serve a fleet are compared");
  const loads = [
    { what: `${CONCURRENT_DEPLOYMENTS} deployments at a time`, turnsOf: ({ busy }: Result) => busy },
    { what: `${REQUESTS_PER_SECOND} deployments/s`, turnsOf: ({ steady }: Result) => steady },
  ];
  return [
    ...loads.flatMap(({ what, turnsOf }) => [
      costRow(
        `${what}, processor time of one: ${one.name}`,
        turnsOf(one),
        sqlite.name,
        turnsOf(sqlite),
        MAX_SHARED_TO_SQLITE,
      ),
      costRow(
        `${what}, processor time of one: ${two.name} in sum`,
        turnsOf(two),
        one.name,
        turnsOf(one),
        MAX_TWO_TO_ONE,
      ),
    ]),
    ...[sqlite, one, two].map(({ name, busy, steady }) => ({
      what: `edge-control: ${CONCURRENT_DEPLOYMENTS} deployments at a time, ${name}`,
      value: `${median(busy.map(({ perSecond }) => perSecond)).toFixed(0)}/s`,
      reference: `first event at ${REQUESTS_PER_SECOND}/s, p99: ${firstEventP99(steady).toFixed(0)} ms`,
    })),
  ];
}

/** The ratio is the median of those within each round. */
function costRow(what: string, ours: readonly Turn[], reference: string, turns: readonly Turn[], max: number): Row {
  const references = costs(turns);
  const ratio = median(costs(ours).map((cost, round) => cost / (references[round] ?? Number.NaN)));
  return {
    what: `edge-control: ${what}`,
    value: `${median(costs(ours)).toFixed(2)} ms`,
    reference: `${reference}: ${median(references).toFixed(2)} ms`,
    ratio,
    target: atMost(max, "x", ratio),
  };
}
