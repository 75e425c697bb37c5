import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planWaves, type WaveMember } from "../../../../../src/control-plane/core/fleets/waves.ts";
import { rolloutStrategySchema } from "../../../../../src/protocol/rollout-strategy.ts";
import { countOf } from "../../../../../src/protocol/share.ts";

const member = (assetUuid: string, role = "kiosk"): WaveMember => ({
  assetUuid,
  type: "gateway",
  tags: new Map([["role", role]]),
});
const strategy = (waves: readonly object[]) => rolloutStrategySchema.parse({ waves });
const ids = (waves: readonly (readonly WaveMember[])[]) => waves.map((wave) => wave.map(({ assetUuid }) => assetUuid));
const count = (waves: readonly (readonly WaveMember[])[]) => waves.map((wave) => wave.length);

const uuid = fc.uuid();
const members = fc
  .uniqueArray(uuid, { maxLength: 60 })
  .chain((uuids) => fc.tuple(...uuids.map((id) => fc.constantFrom("kiosk", "van").map((role) => member(id, role)))));
const limits = fc.array(
  fc.oneof(
    fc.integer({ min: 1, max: 70 }),
    fc.integer({ min: 1, max: 100 }).map((percent) => `${percent}%`),
  ),
  { maxLength: 6 },
);
// Limits that fall are refused, where they compare; the plan holds for any.
const wavesOf = (values: readonly (number | string)[]) => ({
  waves: values.map((limit) => ({ limit, soak_s: 0, advance: "auto" as const })),
});

/** Every other wave has a selector. */
const selectiveWaves = (values: readonly (number | string)[]) =>
  values.map((limit, index) => ({
    limit,
    soak_s: 0,
    advance: "auto" as const,
    ...(index % 2 === 0 && { selector: "role=van" }),
  }));
const isVan = (each: WaveMember): boolean => each.tags.get("role") === "van";

describe("waves", () => {
  it("have as many as the limits say, and the last one the rest", () => {
    const twenty = Array.from({ length: 21 }, (_, index) => member(`asset-${index}`));
    expect(count(planWaves("rol_1", strategy([{ limit: 2 }, { limit: "10%" }, { limit: "50%" }]), twenty))).toEqual([
      2, 1, 8, 10,
    ]);
    expect(count(planWaves("rol_1", strategy([]), twenty))).toEqual([21]);
    expect(count(planWaves("rol_1", strategy([{ limit: 100 }]), twenty))).toEqual([21, 0]);
    expect(count(planWaves("rol_1", strategy([{ limit: "1%" }]), []))).toEqual([0, 0]);
  });

  it("with a selector take only what it matches, and leave the others to later ones", () => {
    const some = [member("a"), member("b", "van"), member("c"), member("d", "van"), member("e")];
    const planned = planWaves("rol_1", strategy([{ limit: 4, selector: "role=van" }, { limit: 4 }]), some);
    expect(ids(planned)[0]?.toSorted()).toEqual(["b", "d"]);
    expect(count(planned)).toEqual([2, 2, 1]);
  });

  it("do not begin with the same members in every rollout", () => {
    const hundred = Array.from({ length: 100 }, (_, index) =>
      member(`0b7e5a52-6f0c-4c1e-9a52-0000000000${index + 10}`),
    );
    const first = (rollout: number) => ids(planWaves(`rol_${rollout}`, strategy([{ limit: 10 }]), hundred))[0] ?? [];
    const times = Map.groupBy(Array.from({ length: 200 }, (_, rollout) => first(rollout)).flat(), (id) => id);
    // Each is expected in 20 of 200 first waves.
    expect(times.size).toBe(100);
    expect(Math.max(...[...times.values()].map((each) => each.length))).toBeLessThan(45);
  });

  it("have every member exactly once, whatever order the members are read in", () => {
    fc.assert(
      fc.property(fc.string(), limits, members, (rollout, values, some) => {
        const planned = ids(planWaves(rollout, wavesOf(values), some));
        expect(planned).toHaveLength(values.length + 1);
        expect(planned.flat().toSorted()).toEqual(some.map(({ assetUuid }) => assetUuid).toSorted());
        expect(ids(planWaves(rollout, wavesOf(values), some.toReversed()))).toEqual(planned);
      }),
    );
  });

  it("without selectors have exactly the cumulative counts of the limits", () => {
    fc.assert(
      fc.property(limits, members, (values, some) => {
        let before = 0;
        const expected = values.map((limit) => {
          const upTo = Math.max(before, Math.min(some.length, countOf(limit, some.length)));
          const size = upTo - before;
          before = upTo;
          return size;
        });
        expect(count(planWaves("rol_1", wavesOf(values), some))).toEqual([...expected, some.length - before]);
      }),
    );
  });

  it("with selectors are as full as the matching members allow", () => {
    fc.assert(
      fc.property(limits, members, (values, some) => {
        const waves = selectiveWaves(values);
        const planned = planWaves("rol_1", { waves }, some);
        let before = 0;
        for (const [index, { limit }] of waves.entries()) {
          const taken = planned[index] ?? [];
          const later = planned.slice(index + 1).flat();
          if (index % 2 === 0) expect(taken.every(isVan)).toBe(true);
          const left = index % 2 === 0 ? later.filter(isVan) : later;
          const room = Math.max(0, countOf(limit, some.length) - before);
          expect(taken.length).toBe(Math.min(room, taken.length + left.length));
          before += taken.length;
        }
      }),
    );
  });

  it("keep the order of the others when a member joins, and move each by one wave's edge at most", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 70 }), { maxLength: 6 }),
        members,
        uuid,
        (values, some, joining) => {
          fc.pre(!some.some(({ assetUuid }) => assetUuid === joining));
          const before = ids(planWaves("rol_1", wavesOf(values), some));
          const after = ids(planWaves("rol_1", wavesOf(values), [...some, member(joining)]));
          expect(after.flat().filter((id) => id !== joining)).toEqual(before.flat());
          // At most one member of each wave is pushed out of it.
          for (const [index, wave] of before.entries()) {
            expect(wave.filter((id) => !after[index]?.includes(id)).length).toBeLessThanOrEqual(1);
          }
        },
      ),
    );
  });
});
