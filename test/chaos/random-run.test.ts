import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { Apps } from "../support/chaos/apps.ts";
import { pickFault } from "../support/chaos/faults.ts";
import { checkInvariants } from "../support/chaos/invariants.ts";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";
import { ChaosSystem } from "../support/chaos/chaos-system.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";

/*
 * Whatever may go wrong, at random, while apps are deployed. `CHAOS_SECONDS` says for how long, `CHAOS_SEED` with which
 * seed to begin. A seed determines what is done in which order; how fast both processes are meanwhile it does not.
 */

const SECONDS = Number(process.env["CHAOS_SECONDS"] ?? 10);
const ROUNDS_PER_WORLD = 6;
const missing = await privateEngineUnavailableReason();

test.skipIf(missing)(`a random run of ${SECONDS} s`, { timeout: (SECONDS + 600) * 1000 }, async () => {
  await using engine = await PrivateEngine.start();
  await using apps = await Apps.in(engine.socketPath);
  const end = performance.now() + SECONDS * 1000;
  const totals = { worlds: 0, rounds: 0, deployments: 0, succeeded: 0, faults: new Map<string, number>() };
  const violations: string[] = [];
  for (let seed = firstSeed(); performance.now() < end; seed++) {
    console.log(`seed ${seed}`);
    await using world = await ChaosSystem.start(engine.socketPath);
    const random = new SeededRandom(seed);
    for (let round = 0; round < ROUNDS_PER_WORLD && performance.now() < end; round++) {
      const struck: string[] = [];
      try {
        await playRound(world, random, engine, apps, struck);
        await checkInvariants(world);
      } catch (error) {
        // A long run goes on with another world: one violation must not hide the others.
        violations.push(`seed ${seed}, round ${round}: ${struck.join(", ")}\n${String(error)}`);
        console.error(`${violations.at(-1)}\n${world.tail()}`);
        break;
      }
      for (const name of struck) totals.faults.set(name, (totals.faults.get(name) ?? 0) + 1);
      totals.rounds++;
    }
    totals.worlds++;
    totals.deployments += world.clients.length;
    totals.succeeded += world.clients.filter(({ final }) => final?.status === "Success").length;
  }
  console.log(JSON.stringify({ ...totals, faults: Object.fromEntries(totals.faults) }));
  expect(violations).toEqual([]);
  expect(totals.rounds).toBeGreaterThan(0);
});

async function playRound(
  world: ChaosSystem,
  random: SeededRandom,
  engine: PrivateEngine,
  apps: Apps,
  struck: string[],
): Promise<void> {
  const deployments = random.between(1, 3);
  for (let count = 0; count < deployments; count++) {
    const client = world.request(apps.randomRequest(world, random));
    if (random.chance(0.2)) void sleep(random.between(0, 3_000)).then(() => client.cancel());
    await sleep(random.between(0, 300));
  }
  const faults = random.between(1, 3);
  for (let count = 0; count < faults; count++) {
    await sleep(random.between(0, 1_500));
    const fault = pickFault(random);
    struck.push(fault.name);
    await fault.inject(world, random, engine);
  }
  await world.clearFaults();
}
