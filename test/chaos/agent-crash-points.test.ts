import { afterAll, describe, expect, it } from "vitest";
import { CRASH_KINDS, runScenario } from "../support/chaos/run-scenario.ts";
import { SCENARIOS } from "../support/chaos/agent-scenarios.ts";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";

/*
 * Crashes the agent's deployments and reconciler at every moment: before an engine call takes effect, and after, with the
 * response lost; before a write to the store, and after. Then restarts them on the same store. The model control plane is
 * connected over a link that delays events and loses acknowledgements. `CHAOS=full` tries every moment with every kind of
 * crash, and more second crashes; otherwise the agent alone is killed at every moment, and the rest is sampled by the seed.
 */

const FULL = process.env["CHAOS"] === "full";

/** Second crashes tried for a first one, since trying all would take the square. */
const SECOND_CRASHES = FULL ? 20 : 1;

/** Every how many moments a long scenario is crashed, and any scenario in another way than by a kill of the agent alone. */
const [LONG_STEP, OTHER_STEP] = FULL ? [1, 1] : [5, 3];

const seed = firstSeed();
const tried = new Map<string, number>();

const note = (name: string): void => void tried.set(name, (tried.get(name) ?? 0) + 1);

afterAll(() => {
  const total = [...tried.values()].reduce((sum, count) => sum + count, 0);
  console.log(
    `seed ${seed}; points tried:\n${[...tried].map(([name, count]) => `${count} ${name}`).join("\n")}\n${total} in all`,
  );
});

describe.each(Object.entries(SCENARIOS))("%s", (name, scenario) => {
  it.each(CRASH_KINDS)("ends correctly when %s at any moment", async (crashKind) => {
    const isOther = crashKind !== "killed";
    const step = (scenario.isLong ? LONG_STEP : 1) * (isOther ? OTHER_STEP : 1);
    const random = new SeededRandom(seed);
    let at = 1 + (seed % step);
    for (; ; at += step) {
      const { died, isSameAsKilled, violations } = await runScenario(scenario, [at], crashKind, seed + at);
      expect(violations, `seed ${seed}, moment ${at}`).toEqual([]);
      if (!died) break;
      if (!isSameAsKilled) note(`${name}, ${crashKind}`);
      if (isOther || (at + seed) % OTHER_STEP !== 0) continue;
      for (let count = 0; count < SECOND_CRASHES; count++) {
        const again = random.between(1, 12);
        const second = await runScenario(scenario, [at, again], "killed", seed + at);
        expect(second.violations, `seed ${seed}, moments ${at} and ${again}`).toEqual([]);
        if (second.died) note(`${name}, killed twice`);
      }
    }
    // The shortest scenarios have seven to nine, as the seed has it: what is done side by side ends in one order or another.
    expect(at).toBeGreaterThan(5);
  });
});
