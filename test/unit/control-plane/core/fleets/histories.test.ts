import { expect, test } from "vitest";
import { playHistory } from "../../../../support/fleets/fleet-history.ts";

/** Number of random histories; `FLEET_SEED` is that of the first. */
const HISTORIES = Number(process.env["FLEET_HISTORIES"] ?? 500);
const FIRST_SEED = Number(process.env["FLEET_SEED"] ?? 1);

test(`${HISTORIES} random histories of a fleet break no property`, { timeout: 300_000 + HISTORIES * 1_000 }, () => {
  const broken: string[] = [];
  const ends = new Map<string, number>();
  let successes = 0;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + HISTORIES && broken.length < 5; seed++) {
    try {
      const history = playHistory(seed);
      successes += history.successes;
      for (const { record } of history.fleet.rollouts.values()) {
        ends.set(record.state, (ends.get(record.state) ?? 0) + 1);
      }
    } catch (error) {
      broken.push(
        `FLEET_SEED=${seed}: ${error instanceof Error ? (error.name === "Violation" ? error.message : error.stack) : String(error)}`,
      );
    }
  }
  expect(broken).toEqual([]);
  // The histories must reach what the properties are about.
  expect(successes).toBeGreaterThan(HISTORIES / 2);
  if (HISTORIES < 100) return;
  for (const state of ["succeeded", "failed", "cancelled", "superseded", "rolled_back"]) {
    expect.soft(ends.get(state) ?? 0, state).toBeGreaterThan(0);
  }
});
