import { expect, test } from "vitest";
import { Apps } from "../support/chaos/apps.ts";
import { ClusterChaos } from "../support/chaos/cluster/cluster-chaos.ts";
import { checkCluster } from "../support/chaos/cluster/cluster-invariants.ts";
import { runRound } from "../support/chaos/cluster/round.ts";
import { Totals } from "../support/chaos/cluster/totals.ts";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";
import { postgresUnavailableReason } from "../support/postgres.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../support/private-engine.ts";

/*
 * Injects random faults into several instances, their database, their bus and their devices, while apps are deployed, for
 * `CHAOS_SECONDS`, beginning with the seed `CHAOS_SEED`. A seed determines what is done and when, but not how far the
 * processes have come by then.
 */

const FULL = process.env["CHAOS"] === "full";
const SECONDS = Number(process.env["CHAOS_SECONDS"] ?? (FULL ? 1_800 : 20));
const INSTANCES = Number(process.env["CHAOS_INSTANCES"] ?? 2);
const SEED = firstSeed({ CHAOS_SEED: "15", ...process.env });
const ROUNDS_PER_SYSTEM = 6;
/** For how long something begins in a round. */
const ROUND_MS = 6_000;
/** Longest time for a round and its checks to end, and for everything to start. */
const END_MS = 900_000;

const missing = (await privateEngineUnavailableReason()) ?? (await postgresUnavailableReason());
const name = `a random run of ${SECONDS} s over ${INSTANCES} instances, seed ${SEED}`;

test.skipIf(missing !== undefined)(name, { timeout: SECONDS * 1000 + END_MS }, async () => {
  await using engine = await PrivateEngine.start();
  await using apps = await Apps.in(engine.socketPath);
  const end = performance.now() + SECONDS * 1000;
  const totals = new Totals();
  const violations: string[] = [];
  for (let seed = SEED; performance.now() < end; seed++) {
    console.log(`seed ${seed}`);
    await using system = await ClusterChaos.start(engine.socketPath, seed, INSTANCES);
    const random = new SeededRandom(seed);
    // One round at least: on a loaded machine the start alone takes longer than a short run.
    for (let round = 0; round < ROUNDS_PER_SYSTEM && (totals.rounds === 0 || performance.now() < end); round++) {
      system.history.add(`round ${round} of seed ${seed}`);
      try {
        totals.addRound(await runRound({ system, apps, random, ms: ROUND_MS }));
        await system.recover();
        await checkCluster(system);
      } catch (error) {
        // A long run continues with a new system: one violation must not hide others.
        violations.push(`seed ${seed}, round ${round}: ${String(error)}`);
        console.error(`${violations.at(-1)}\n--- history of seed ${seed}\n${system.history.text}\n${system.tail()}`);
        break;
      }
    }
    totals.addSystem(system);
  }
  console.log(`seeds from ${SEED}: ${totals.text}`);
  expect(violations).toEqual([]);
  expect(totals.rounds).toBeGreaterThan(0);
});

// Shows the reason if the run is skipped.
if (missing !== undefined) test(name, ({ skip }) => skip(missing));
