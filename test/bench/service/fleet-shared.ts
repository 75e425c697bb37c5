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
  /** Median of the first events that a device sent. */
  readonly firstMs: number;
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
      ["one instance", 1],
      ["two instances", 2],
    ] as const) {
      ways.push(owner.use(await startWay(join(folder, String(instances)), name, instances, devices)));
    }
    for (const { load } of ways) await load.deployMany(quick ? 50 : 1_000, CONCURRENT_DEPLOYMENTS);
    const rounds = quick ? 1 : 7;
    const turns = await byTurns(rounds, ways, (way) => busyTurn(way, quick ? 100 : 1_000));
    const steady = await byTurns(quick ? 1 : 4, ways, ({ load }) =>
      load.deployAt(REQUESTS_PER_SECOND, quick ? 2_000 : 10_000),
    );
    const results = ways.map(({ name }, index) => ({
      name,
      turns: turns[index] ?? [],
      firstEventP99Ms: percentile(
        (steady[index] ?? []).flat().map(({ firstMs }) => firstMs),
        99,
      ),
    }));
    return { data: { devices, rounds, results }, rows: rows(results) };
  },
};

async function startWay(folder: string, name: string, instances: number, devices: number): Promise<Way> {
  await using owned = new AsyncDisposableStack();
  const { apiKey, tokens } = await prepareFleet(folder, devices);
  const services: Service[] = [];
  if (instances === 0) {
    services.push(owned.use(await startService(folder)));
  } else {
    const database = owned.use(await SharedDatabase.copyOf(folder));
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

async function busyTurn({ load, services }: Way, deployments: number): Promise<Turn> {
  const used = (): number => services.reduce((sum, { pid }) => sum + processorMs(pid), 0);
  const before = used();
  const start = performance.now();
  const times: DeploymentTimes[] = await load.deployMany(deployments, CONCURRENT_DEPLOYMENTS);
  const tookMs = performance.now() - start;
  return {
    perSecond: (deployments / tookMs) * 1000,
    processorMs: (used() - before) / deployments,
    firstMs: median(times.map(({ firstMs }) => firstMs)),
  };
}

interface Result {
  readonly name: string;
  readonly turns: readonly Turn[];
  readonly firstEventP99Ms: number;
}

function rows([sqlite, one, two]: readonly Result[]): Row[] {
  if (!sqlite || !one || !two) throw new Error("three ways to serve a fleet are compared");
  return [
    costRow("PostgreSQL and NATS, one instance", one, sqlite, MAX_SHARED_TO_SQLITE),
    costRow("PostgreSQL and NATS, two instances in sum", two, one, MAX_TWO_TO_ONE),
    ...[sqlite, one, two].map((result) => ({
      what: `edge-control: ${CONCURRENT_DEPLOYMENTS} deployments at a time, ${result.name}`,
      value: `${median(result.turns.map(({ perSecond }) => perSecond)).toFixed(0)}/s`,
      reference: `first event at ${REQUESTS_PER_SECOND}/s, p99: ${result.firstEventP99Ms.toFixed(0)} ms`,
    })),
  ];
}

/** The ratio is the median of those within each round. */
function costRow(what: string, ours: Result, reference: Result, max: number): Row {
  const costs = ({ turns }: Result): number[] => turns.map(({ processorMs: ms }) => ms);
  const references = costs(reference);
  const ratio = median(costs(ours).map((cost, round) => cost / (references[round] ?? Number.NaN)));
  const inMs = (result: Result): string => `${median(costs(result)).toFixed(2)} ms`;
  return {
    what: `edge-control: processor time of a deployment, ${what}`,
    value: inMs(ours),
    reference: `${reference.name}: ${inMs(reference)}`,
    ratio,
    target: atMost(max, "x", ratio),
  };
}
