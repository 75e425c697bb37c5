import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  rolloutStrategySchema,
  rolloutStrategyUpdateSchema,
  soakMsOf,
  updateStrategy,
  waveCount,
} from "../../../src/protocol/fleets/rollout-strategy.ts";
import { countOf } from "../../../src/protocol/values/share.ts";

const DAY_S = 24 * 3600;
const issuesOf = (input: unknown) =>
  (rolloutStrategySchema.safeParse(input).error?.issues ?? []).map(({ path }) => path.join("."));
const limits = (...values: readonly unknown[]) => ({ waves: values.map((limit) => ({ limit })) });
const windowOf = (fields: object) => ({ windows: [{ from: "02:00", to: "05:00", ...fields }] });

describe("a strategy", () => {
  it("has defaults for everything", () => {
    expect(rolloutStrategySchema.parse({})).toEqual({
      waves: [],
      soak_s: 60,
      max_parallel: 50,
      stop_when: { failed: "10%", min_attempted: 5 },
      on_stop: "pause",
      attempts: 2,
      offline_after_s: 3 * DAY_S,
      lost_after_s: 1800,
      windows: [],
      download_windows: [],
      requires_approval: false,
      done_at: "100%",
      refused: "fail",
    });
    expect(rolloutStrategySchema.parse({ ...limits(1), ...windowOf({}) })).toMatchObject({
      waves: [{ limit: 1, soak_s: 60, advance: "auto" }],
      windows: [{ days: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], zone: "device" }],
    });
  });

  it.each([
    [limits(1, 1, 2, "1%", "1%", "100%", 3)],
    [limits(500, "10%")],
    [limits("90%", 1)],
    [{ soak_s: 30 * DAY_S }],
    [
      {
        waves: [{ by: "site" }, { assets: ["GW-1", "GW-2"] }, { limit: 5, by: "example.com/region" }, { limit: "50%" }],
      },
    ],
    [{ done_at: "98%", refused: "allow" }],
    [{ done_at: 40 }],
    [{ max_parallel: 5000, attempts: 10 }],
    [windowOf({ zone: "Europe/Berlin" })],
    [windowOf({ zone: "UTC", from: "23:59", to: "00:00" })],
  ])("takes %j", (input) => {
    expect(issuesOf(input)).toEqual([]);
  });

  it.each([
    ["waves.0.limit", limits(0)],
    ["waves.0.limit", limits(1.5)],
    ["waves.0.limit", limits("0%")],
    ["waves.0.limit", limits("101%")],
    ["waves.0.limit", limits("5")],
    ["waves.0.limit", limits("5.5%")],
    ["waves.1.limit", limits(10, 9)],
    ["waves.1.limit", limits("10%", "9%")],
    // With another kind between them they compare all the same.
    ["waves.2.limit", limits(10, "5%", 9)],
    ["waves", limits(...Array.from({ length: 21 }, () => 1))],
    ["waves.0.selector", { waves: [{ limit: 1, selector: "a b" }] }],
    ["soak_s", { soak_s: 30 * DAY_S + 1 }],
    ["waves.0", { waves: [{ selector: "beta" }] }],
    ["waves.0.by", { waves: [{ by: "type" }] }],
    ["waves.0.assets", { waves: [{ assets: [] }] }],
    ["waves.0.assets.0", { waves: [{ assets: ["a b"] }] }],
    ["waves.1.assets.0", { waves: [{ assets: ["GW-1"] }, { assets: ["GW-1"] }] }],
    ["waves.0.assets", { waves: [{ assets: Array.from({ length: 101 }, (_, index) => `GW-${index}`) }] }],
    ["done_at", { done_at: "0%" }],
    ["refused", { refused: "ignore" }],
    ["soak_s", { soak_s: -1 }],
    ["max_parallel", { max_parallel: 0 }],
    ["max_parallel", { max_parallel: 5001 }],
    ["stop_when.failed", { stop_when: { failed: 0 } }],
    ["stop_when.min_attempted", { stop_when: { min_attempted: 0 } }],
    ["attempts", { attempts: 11 }],
    ["on_stop", { on_stop: "explode" }],
    ["windows.0.from", windowOf({ from: "24:00" })],
    ["windows.0.to", windowOf({ to: "2:00" })],
    ["windows.0.days", windowOf({ days: [] })],
    ["windows.0.days.0", windowOf({ days: ["Monday"] })],
    ["windows.0.zone", windowOf({ zone: "Mars/Olympus" })],
    ["windows.0.zone", windowOf({ zone: "+02:00" })],
    ["windows.0.zone", windowOf({ zone: "" })],
  ])("says that %s is wrong in %j", (path, input) => {
    expect(issuesOf(input)).toEqual([path]);
  });

  it("takes every zone that `Intl` lists", () => {
    const zones = Intl.supportedValuesOf("timeZone");
    expect(zones.length).toBeGreaterThan(300);
    for (const zone of zones) {
      expect(issuesOf(windowOf({ zone })), zone).toEqual([]);
    }
  });

  it("has one wave more than it lists, with its own soak", () => {
    const strategy = rolloutStrategySchema.parse({ waves: [{ limit: 1, soak_s: 600 }], soak_s: 5 });
    expect(waveCount(strategy)).toBe(2);
    expect([0, 1].map((wave) => soakMsOf(strategy, wave))).toEqual([600_000, 5000]);
  });

  it("is changed by the fields that an update names", () => {
    const before = rolloutStrategySchema.parse({ ...limits(5), max_download_bytes: 1000, attempts: 3 });
    const update = (input: unknown) => updateStrategy(before, rolloutStrategyUpdateSchema.parse(input));
    expect(update({})).toEqual(before);
    expect(update({ attempts: 1 })).toEqual({ ...before, attempts: 1 });
    expect(update({ waves: [] })).toEqual({ ...before, waves: [] });
    expect(update({ max_download_bytes: 5 })).toEqual({ ...before, max_download_bytes: 5 });
    expect(Object.keys(update({ max_download_bytes: null }))).not.toContain("max_download_bytes");
  });
});

describe("a share", () => {
  it.each([
    ["1%", 0, 0],
    ["1%", 1, 1],
    ["1%", 100, 1],
    ["1%", 101, 2],
    ["29%", 100, 29],
    ["100%", 7, 7],
    [5, 3, 5],
  ] as const)("%s of %i is %i", (share, total, count) => {
    expect(countOf(share, total)).toBe(count);
  });

  it("is the smallest number that is no smaller part", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), fc.nat(1_000_000), (percent, total) => {
        const count = countOf(`${percent}%`, total);
        expect(count * 100).toBeGreaterThanOrEqual(percent * total);
        expect((count - 1) * 100).toBeLessThan(percent * total || 1);
        expect(count).toBeLessThanOrEqual(total);
      }),
    );
  });
});
