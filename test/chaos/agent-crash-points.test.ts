import { afterAll, describe, expect, it } from "vitest";
import { type CrashKind, CRASH_KINDS, runScenario } from "../support/chaos/run-scenario.ts";
import { SCENARIOS } from "../support/chaos/agent-scenarios.ts";
import { firstSeed, SeededRandom } from "../support/chaos/seeded-random.ts";

/*
 * Crashes the agent's deployments and reconciler at every engine call (before it takes effect, and after, with the
 * response lost) and at every write to the store (before and after), then restarts them on the same store. The model
 * control plane is connected over a link that delays events and loses acknowledgements.
 */

/** Second crashes tried for each first one, since trying all would take the square. */
const SECOND_CRASHES = process.env["CHAOS"] === "full" ? 20 : 1;

/** Every how many checkpoints a long scenario is crashed. */
const SAMPLE = process.env["CHAOS"] === "full" ? 1 : 9;

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
  const step = scenario.isLong ? SAMPLE : 1;
  const first = 1 + (seed % step);

  it.each(CRASH_KINDS)("ends correctly when %s at any checkpoint", async (crashKind: CrashKind) => {
    let at = first;
    for (; ; at += step) {
      const { died, violations } = await runScenario(scenario, [at], crashKind, seed + at);
      expect(violations, `seed ${seed}, checkpoint ${at}`).toEqual([]);
      if (!died) break;
      note(`${name}, ${crashKind}`);
    }
    // The shortest scenarios have nine to twelve, as the seed has it: what is done side by side ends in one order or another.
    expect(at).toBeGreaterThan(5);
  });

  it("ends correctly when killed twice", async () => {
    const random = new SeededRandom(seed);
    for (let at = first; ; at += step) {
      const { died, violations } = await runScenario(scenario, [at], "killed", seed + at);
      expect(violations, `seed ${seed}, checkpoint ${at}`).toEqual([]);
      if (!died) break;
      for (let count = 0; count < SECOND_CRASHES; count++) {
        const again = random.between(1, 25);
        const second = await runScenario(scenario, [at, again], "killed", seed + at);
        expect(second.violations, `seed ${seed}, checkpoints ${at} and ${again}`).toEqual([]);
        if (second.died) note(`${name}, killed twice`);
      }
    }
  });
});
