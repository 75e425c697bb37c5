import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { Apps } from "../support/chaos/apps.ts";
import { pickFault } from "../support/chaos/faults.ts";
import { checkInvariants } from "../support/chaos/invariants.ts";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";
import { ChaosSystem } from "../support/chaos/chaos-system.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";

/*
 * Injects random faults while apps are deployed, for `CHAOS_SECONDS`, beginning with the seed `CHAOS_SEED`. A seed
 * determines the actions and their order, but not the timing of the processes.
 */

const SECONDS = Number(process.env["CHAOS_SECONDS"] ?? 10);
const ROUNDS_PER_SYSTEM = 6;
const missing = await privateEngineUnavailableReason();

test.skipIf(missing)(`a random run of ${SECONDS} s`, { timeout: (SECONDS + 600) * 1000 }, async () => {
  await using engine = await PrivateEngine.start();
  await using apps = await Apps.in(engine.socketPath);
  const end = performance.now() + SECONDS * 1000;
  const totals = { systems: 0, rounds: 0, deployments: 0, succeeded: 0, faults: new Map<string, number>() };
  const violations: string[] = [];
  for (let seed = firstSeed(); performance.now() < end; seed++) {
    console.log(`seed ${seed}`);
    await using system = await ChaosSystem.start(engine.socketPath);
    const random = new SeededRandom(seed);
    // One round at least: on a loaded machine the start alone takes longer than a short run.
    for (let round = 0; round < ROUNDS_PER_SYSTEM && (totals.rounds === 0 || performance.now() < end); round++) {
      const faultNames: string[] = [];
      try {
        await runRound(system, random, engine, apps, faultNames);
        await checkInvariants(system);
      } catch (error) {
        // A long run continues with a new system: one violation must not hide others.
        violations.push(`seed ${seed}, round ${round}: ${faultNames.join(", ")}\n${String(error)}`);
        console.error(`${violations.at(-1)}\n${system.tail()}`);
        break;
      }
      for (const name of faultNames) totals.faults.set(name, (totals.faults.get(name) ?? 0) + 1);
      totals.rounds++;
    }
    totals.systems++;
    totals.deployments += system.clients.length;
    totals.succeeded += system.clients.filter(({ final }) => final?.status === "Success").length;
  }
  console.log(JSON.stringify({ ...totals, faults: Object.fromEntries(totals.faults) }));
  expect(violations).toEqual([]);
  expect(totals.rounds).toBeGreaterThan(0);
});

async function runRound(
  system: ChaosSystem,
  random: SeededRandom,
  engine: PrivateEngine,
  apps: Apps,
  faultNames: string[],
): Promise<void> {
  const deployments = random.between(1, 3);
  for (let count = 0; count < deployments; count++) {
    const client = system.request(apps.randomRequest(system, random));
    if (random.chance(0.2)) void sleep(random.between(0, 3_000)).then(() => client.cancel());
    await sleep(random.between(0, 300));
  }
  const faults = random.between(1, 3);
  for (let count = 0; count < faults; count++) {
    await sleep(random.between(0, 1_500));
    const fault = pickFault(random);
    faultNames.push(fault.name);
    await fault.inject(system, random, engine);
  }
  await system.clearFaults();
}
