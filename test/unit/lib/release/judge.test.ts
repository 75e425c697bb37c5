import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ReleasesState } from "../../../../src/lib/release/releases-state.ts";
import { compareVersions } from "../../../../src/protocol/agents/version-order.ts";
import { findObstacle, type InstallFacts } from "../../../../src/lib/release/judge.ts";

const NOTHING: ReleasesState = {
  installed: [],
  current: undefined,
  trial: undefined,
  pin: undefined,
  setAside: new Map(),
  deployment: undefined,
};
const TRIAL = { version: "1.5.0", starts: 1, attempt: 1, ticks: 0, maxTicks: 30 };
const FACTS: InstallFacts = {
  statement: { version: "1.1.0", floor: "1.0.0" },
  running: { version: "1.0.0", floor: "0.8.0" },
  state: NOTHING,
  request: { downgrade: false, again: false },
  mayDowngrade: false,
};
const DOWN = { downgrade: true, again: false };

const obstacle = (facts: Partial<InstallFacts>): string | undefined => findObstacle({ ...FACTS, ...facts })?.code;

describe("whether a signed release is installed", () => {
  it("one that is newer and can follow what runs", () => {
    expect(obstacle({})).toBeUndefined();
  });

  it.each<[string, Partial<InstallFacts>]>([
    ["pinned", { state: { ...NOTHING, pin: "package" } }],
    ["on_trial", { state: { ...NOTHING, trial: TRIAL } }],
    ["installed", { statement: { version: "1.0.0", floor: "0.1" } }],
    ["set_aside", { state: { ...NOTHING, setAside: new Map([["1.1.0", { attempt: 1, reason: "crashed" }]]) } }],
    ["too_far", { statement: { version: "3.0.0", floor: "2.0.0" } }],
    ["not_newer", { statement: { version: "0.9.0", floor: "0.1" } }],
    ["not_newer", { statement: { version: "0.9.0", floor: "0.1" }, mayDowngrade: true }],
    ["downgrade_not_allowed", { statement: { version: "0.9.0", floor: "0.1" }, request: DOWN }],
    ["below_floor", { statement: { version: "0.7.9", floor: "0.1" }, request: DOWN, mayDowngrade: true }],
  ])("is refused as %s", (code, facts) => {
    expect(obstacle(facts)).toBe(code);
  });

  it("a downgrade that is asked for, allowed and above the floor", () => {
    const statement = { version: "0.8.0", floor: "0.1" };
    expect(obstacle({ statement, request: DOWN, mayDowngrade: true })).toBeUndefined();
  });

  it("one that was set aside, if it is asked for again", () => {
    const setAside = new Map([["1.1.0", { attempt: 1, reason: "crashed" }]]);
    expect(obstacle({ state: { ...NOTHING, setAside }, request: { downgrade: false, again: true } })).toBeUndefined();
  });

  it("never anything older, unless the device's configuration allows it, whatever is asked", () => {
    const version = fc.tuple(fc.nat(3), fc.nat(3)).map(([a, b]) => `${a}.${b}`);
    fc.assert(
      fc.property(
        version,
        version,
        version,
        version,
        fc.boolean(),
        fc.boolean(),
        (v, floor, runs, its, downgrade, again) => {
          const found = findObstacle({
            ...FACTS,
            statement: { version: v, floor },
            running: { version: runs, floor: its },
            request: { downgrade, again },
          });
          if (!found) expect(compareVersions(v, runs)).toBeGreaterThan(0);
        },
      ),
    );
  });
});
