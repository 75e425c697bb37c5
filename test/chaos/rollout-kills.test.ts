import { afterAll, describe, expect, test } from "vitest";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";
import type { KillPlan, Phase } from "../support/fleets/killed-service.ts";
import { forwardRollout, rolloutThatGoesBack } from "../support/fleets/rollout-kills.ts";

/*
 * Kills the service before and after single writes of a rollout, and starts it again on the same data. Its devices are on the
 * real protocol. `CHAOS=full` tries every point, otherwise some that the seed chooses.
 */

const FULL = process.env["CHAOS"] === "full";
const SAMPLE = 10;
/** Number of writes between two deaths of a service that dies again and again. */
const LIVES = [3, 7];

const seed = firstSeed();
const PHASES: readonly Phase[] = ["before", "after"];

describe.each([
  ["a rollout with an asset that fails and one that returns", forwardRollout],
  ["a rollout that stops by itself and goes back", rolloutThatGoesBack],
])("%s", (name, run) => {
  let points = 0;
  let reached = 0;
  let chosen = 0;
  afterAll(() => console.log(`seed ${seed}; ${name}: killed at ${reached} of ${chosen} chosen points, of ${points}`));

  test("ends as it should wherever the service is killed", { timeout: FULL ? 1_800_000 : 900_000 }, async () => {
    const { writes } = await run(() => undefined);
    const all = writes.flatMap((_, index) => PHASES.map((phase) => ({ number: index + 1, phase })));
    points = all.length;
    const random = new SeededRandom(seed);
    const tried = FULL ? all : Array.from({ length: SAMPLE }, () => random.pick(all));
    for (const { number, phase } of tried) {
      chosen++;
      const killed = await during(`seed ${seed}: killed ${phase} write ${number}`, run, (write) =>
        write === number ? phase : undefined,
      );
      reached += killed.kills;
    }
    // The number of writes differs a little from run to run.
    expect(reached).toBeGreaterThanOrEqual(chosen * 0.7);
  });

  test.each(LIVES)("ends as it should though the service is killed at every %i. write", async (every) => {
    const random = new SeededRandom(seed + every);
    const plan: KillPlan = (write) => (write % every === 0 && write <= 100 ? random.pick(PHASES) : undefined);
    const { kills } = await during(`seed ${seed}: killed at every ${every}. write`, run, plan);
    expect(kills).toBeGreaterThan(1);
  });
});

test("an attempt that a device has taken, and could not tell of in time, is made again", async () => {
  let isFirst = true;
  const beforeFirstAck: KillPlan = (_, call) => {
    if (call !== "deployments.updateDeployment" || !isFirst) return undefined;
    isFirst = false;
    return "before";
  };
  // Of the 10 s to acknowledge a command, two are left.
  const { kills, mostAttempts } = await forwardRollout(beforeFirstAck, { ms: 8_000, areDevicesLate: true });
  expect({ kills, mostAttempts }).toEqual({ kills: 1, mostAttempts: 2 });
});

async function during(what: string, run: typeof forwardRollout, plan: KillPlan): ReturnType<typeof forwardRollout> {
  try {
    return await run(plan);
  } catch (error) {
    throw new Error(`${what}: ${String(error)}`, { cause: error });
  }
}
