import { afterAll, describe, expect, it } from "vitest";
import { type CrashKind, CRASH_KINDS, runScenario } from "../support/chaos/run-scenario.ts";
import { SCENARIOS } from "../support/chaos/agent-scenarios.ts";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";

/*
 * The agent's deployments and its keeper, killed at every call to the engine (before it takes effect, and after, with
 * the answer lost) and at every write to the store (before and after), then started again on what is on disk. A control
 * plane that decides as the real one does hears from it over a link that delays events and loses acknowledgements.
 */

/** Second deaths tried for each first one; all of them would be the square. */
const SECOND_DEATHS = process.env["CHAOS"] === "full" ? 20 : 1;

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
  it.each(CRASH_KINDS)("once %s, at any moment", async (death: CrashKind) => {
    let at = 1;
    for (; ; at++) {
      const { died, violations } = await runScenario(scenario, [at], death, seed + at);
      expect(violations, `seed ${seed}, moment ${at}`).toEqual([]);
      if (!died) break;
      note(`${name}, ${death}`);
    }
    expect(at).toBeGreaterThan(10);
  });

  it("killed twice", async () => {
    const random = new SeededRandom(seed);
    for (let at = 1; ; at++) {
      const { died, violations } = await runScenario(scenario, [at], "killed", seed + at);
      expect(violations, `seed ${seed}, moment ${at}`).toEqual([]);
      if (!died) break;
      for (let count = 0; count < SECOND_DEATHS; count++) {
        const again = random.between(1, 25);
        const second = await runScenario(scenario, [at, again], "killed", seed + at);
        expect(second.violations, `seed ${seed}, moments ${at} and ${again}`).toEqual([]);
        if (second.died) note(`${name}, killed twice`);
      }
    }
  });
});
