import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  admit,
  type PlannedWave,
  planWaves,
  type Readiness,
  READINESS,
  type WaveMember,
} from "../../../../../src/control-plane/core/fleets/waves.ts";
import { rolloutStrategySchema } from "../../../../../src/protocol/fleets/rollout-strategy.ts";
import { countOf } from "../../../../../src/protocol/values/share.ts";
import type { Target } from "../../../../../src/control-plane/core/fleets/rollout.ts";
import { aCount, aRollout, aTarget, NOW } from "../../../../support/fleets/records.ts";

const member = (assetUuid: string, role = "kiosk", fields: Partial<WaveMember> = {}): WaveMember => ({
  assetUuid,
  type: "gateway",
  tags: new Map([["role", role]]),
  readiness: "ready",
  ...fields,
});
const at = (assetUuid: string, site: string | undefined, readiness: Readiness = "ready"): WaveMember =>
  member(assetUuid, "kiosk", { readiness, tags: new Map(site === undefined ? [] : [["site", site]]) });
const waves = (list: readonly object[]) => rolloutStrategySchema.parse({ waves: list }).waves;
const ids = (waves: readonly (readonly WaveMember[])[]) => waves.map((wave) => wave.map(({ assetUuid }) => assetUuid));
const count = (planned: readonly (readonly WaveMember[])[]) => planned.map((wave) => wave.length);

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
const wavesOf = (values: readonly (number | string)[]) => values.map((limit) => ({ limit }));

/** Every other wave has a selector. */
const selectiveWaves = (values: readonly (number | string)[]) =>
  values.map((limit, index) => ({
    limit,
    ...(index % 2 === 0 && { selector: "role=van" }),
  }));
const isVan = (each: WaveMember): boolean => each.tags.get("role") === "van";

describe("waves", () => {
  it("have as many as the limits say, and the last one the rest", () => {
    const twenty = Array.from({ length: 21 }, (_, index) => member(`asset-${index}`));
    expect(count(planWaves("rol_1", waves([{ limit: 2 }, { limit: "10%" }, { limit: "50%" }]), twenty))).toEqual([
      2, 1, 8, 10,
    ]);
    expect(count(planWaves("rol_1", waves([]), twenty))).toEqual([21]);
    expect(count(planWaves("rol_1", waves([{ limit: 100 }]), twenty))).toEqual([21, 0]);
    expect(count(planWaves("rol_1", waves([{ limit: "1%" }]), []))).toEqual([0, 0]);
  });

  it("with a selector take only what it matches, and leave the others to later ones", () => {
    const some = [member("a"), member("b", "van"), member("c"), member("d", "van"), member("e")];
    const planned = planWaves("rol_1", waves([{ limit: 4, selector: "role=van" }, { limit: 4 }]), some);
    expect(ids(planned)[0]?.toSorted()).toEqual(["b", "d"]);
    expect(count(planned)).toEqual([2, 2, 1]);
  });

  it("do not begin with the same members in every rollout", () => {
    const hundred = Array.from({ length: 100 }, (_, index) =>
      member(`0b7e5a52-6f0c-4c1e-9a52-0000000000${index + 10}`),
    );
    const first = (rollout: number) => ids(planWaves(`rol_${rollout}`, waves([{ limit: 10 }]), hundred))[0] ?? [];
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
        const selective = selectiveWaves(values);
        const planned = planWaves("rol_1", selective, some);
        let before = 0;
        for (const [index, { limit }] of selective.entries()) {
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

  it("take members that can be reached first, then those that are away", () => {
    const some = [at("a", "x", "blocked"), at("b", "x", "away"), at("c", "x"), at("d", "x", "blocked"), at("e", "x")];
    const planned = ids(planWaves("rol_1", [{ limit: 2 }, { limit: 3 }], some));
    expect(planned.map((wave) => wave.toSorted())).toEqual([["c", "e"], ["b"], ["a", "d"]]);
  });

  it("by a tag take one of each value first, counting what earlier waves have taken", () => {
    const some = [
      at("a1", "a"),
      at("a2", "a"),
      at("a3", "a"),
      at("b1", "b"),
      at("b2", "b"),
      at("c1", "c"),
      at("n", undefined),
    ];
    const [first, second, third] = planWaves(
      "rol_1",
      [
        { limit: 3, by: "site" },
        { limit: 5, by: "site" },
      ],
      some,
    );
    expect([sites(first), sites(second), sites(third)]).toEqual([
      ["a", "b", "c"],
      ["a", "b"],
      ["-", "a"],
    ]);
  });

  it("by a tag without a limit take one of each value, where one can be reached", () => {
    const some = [at("a1", "a", "away"), at("a2", "a"), at("b1", "b"), at("c1", "c", "away"), at("n", undefined)];
    expect(ids(planWaves("rol_1", [{ by: "site" }], some)).map((wave) => wave.toSorted())).toEqual([
      ["a2", "b1"],
      ["a1", "c1", "n"],
    ]);
    // A site of which none can be reached is not waited for while others go on.
    const next = planWaves(
      "rol_1",
      [{ by: "site" }, { by: "site" }],
      [at("a1", "a"), at("a2", "a"), at("c1", "c", "away")],
    );
    expect(next.map((wave) => wave.length)).toEqual([1, 0, 2]);
    // One without any would be passed at once.
    expect(ids(planWaves("rol_1", [{ by: "site" }], [at("c1", "c", "away"), at("c2", "c", "away")]))[0]).toHaveLength(
      1,
    );
  });

  it("take what they name, whatever its state, and others only up to their limit", () => {
    const some = [at("a", "x", "blocked"), at("b", "x"), at("c", "x"), at("d", "y")];
    expect(ids(planWaves("rol_1", [{ assetUuids: ["a", "gone"] }], some))[0]).toEqual(["a"]);
    const [first] = ids(planWaves("rol_1", [{ assetUuids: ["a", "b"], limit: 3, by: "site" }], some));
    expect(first?.toSorted()).toEqual(["a", "b", "d"]);
  });

  it("keep their properties for any mix of limits, tags, selectors, names and states", () => {
    const planned = fc.record({
      members: fc
        .uniqueArray(fc.uuid(), { maxLength: 40 })
        .chain((uuids) =>
          fc.tuple(
            ...uuids.map((id) =>
              fc
                .tuple(fc.constantFrom("a", "b", "c", undefined), fc.constantFrom(...READINESS))
                .map(([site, readiness]) => at(id, site, readiness)),
            ),
          ),
        ),
      drafts: fc.array(
        fc.record({
          limit: fc.oneof(fc.integer({ min: 1, max: 45 }), fc.constantFrom("5%", "50%"), fc.constant(undefined)),
          isBy: fc.boolean(),
          named: fc.array(fc.integer({ min: 0, max: 39 }), { maxLength: 3 }),
          selector: fc.constantFrom(undefined, undefined, "site=a", "site"),
        }),
        { maxLength: 4 },
      ),
      seed: fc.string(),
    });
    fc.assert(
      fc.property(planned, ({ members: some, drafts, seed }) => {
        const list = drafts.map(({ limit, isBy, named, selector }): PlannedWave => {
          const assetUuids = named.flatMap((index) => some[index]?.assetUuid ?? []);
          const by = isBy ? { by: "site" } : {};
          return {
            ...by,
            assetUuids,
            ...(limit !== undefined && { limit }),
            ...(selector !== undefined && { selector }),
          };
        });
        const result = planWaves(seed, list, some);
        expect(result.flat().toSorted(byUuid)).toEqual(some.toSorted(byUuid));
        for (const [index, wave] of list.entries()) expectDraw(wave, result, index, some.length);
      }),
    );
  });
});

const sites = (wave: readonly WaveMember[] = []) => wave.map(({ tags }) => tags.get("site") ?? "-").toSorted();
const rank = ({ readiness }: WaveMember): number => READINESS.indexOf(readiness);
const byUuid = (one: WaveMember, other: WaveMember): number => (one.assetUuid < other.assetUuid ? -1 : 1);

/** Checks a wave with nothing from the code that is checked. */
function expectDraw(
  wave: PlannedWave,
  planned: readonly (readonly WaveMember[])[],
  index: number,
  total: number,
): void {
  const own = planned[index] ?? [];
  const earlier = planned.slice(0, index).flat();
  const later = planned.slice(index + 1).flat();
  const isNamed = ({ assetUuid }: WaveMember): boolean => wave.assetUuids?.includes(assetUuid) === true;
  const matches = ({ tags }: WaveMember): boolean =>
    wave.selector === undefined || (wave.selector === "site" ? tags.has("site") : tags.get("site") === "a");
  // What it names is in it, unless an earlier one has it.
  expect(later.some(isNamed)).toBe(false);
  const drawn = own.filter((each) => !isNamed(each));
  const left = later.filter(matches);
  expect(drawn.every(matches)).toBe(true);
  if (wave.limit === undefined) {
    if (wave.by === undefined) expect(drawn).toEqual([]);
    const values = drawn.map(({ tags }) => tags.get("site"));
    expect(new Set(values).size).toBe(values.length);
    expect(values).not.toContain(undefined);
    return;
  }
  // As full as its limit and what matches allow, and never beyond, but for what it names.
  const room = Math.max(0, countOf(wave.limit, total) - earlier.length - (own.length - drawn.length));
  expect(drawn.length).toBe(Math.min(room, drawn.length + left.length));
  // None is left that is better than one that was drawn.
  expect(Math.max(-1, ...drawn.map(rank))).toBeLessThanOrEqual(Math.min(READINESS.length, ...left.map(rank)));
  if (wave.by === undefined) return;
  const taken = Map.groupBy([...earlier, ...own], ({ tags }) => tags.get("site"));
  const countAt = (value: string | undefined): number =>
    value === undefined ? Infinity : (taken.get(value)?.length ?? 0);
  for (const one of drawn) {
    for (const other of left) {
      // Of two that are as ready, the one was not drawn in a further round than the other would have been.
      if (rank(one) !== rank(other) || other.tags.get("site") === undefined) continue;
      const isNameless = one.tags.get("site") === undefined;
      expect(isNameless).toBe(false);
      expect(countAt(one.tags.get("site")) - 1).toBeLessThanOrEqual(countAt(other.tags.get("site")));
    }
  }
}

const named = (assetUuid: string, fields: Partial<Target> = {}): Target => aTarget({ assetUuid, ...fields });
const names = (targets: readonly Target[]): string[] => targets.map(({ assetUuid }) => assetUuid);

describe("the targets that begin", () => {
  const many = Array.from({ length: 9 }, (_, index) => named(`asset-${index}`));

  test.each([
    [5, []],
    [2, [aCount("deploying", 3)]],
    [2, [aCount("deploying", 1), aCount("waiting", 1, { waitsFor: "budget" }), aCount("lost", 1)]],
    [0, [aCount("deploying", 4), aCount("lost", 3)]],
    [5, [aCount("soaking", 50), aCount("waiting", 50, { waitsFor: "connection" }), aCount("failed", 50)]],
  ])("are %i of five places, by what is under way", (expected, counts) => {
    expect(admit(aRollout({}, { max_parallel: 5 }), many, counts)).toHaveLength(expected);
  });

  test("do not wait for lost devices that somebody has accepted, nor when the rollout goes back", () => {
    const lost = [aCount("lost", 5)];
    expect(admit(aRollout({ acceptedFailures: 4 }, { max_parallel: 5 }), many, lost)).toHaveLength(4);
    const back = many.map((target) => ({ ...target, direction: "back" as const }));
    expect(admit(aRollout({ state: "rolling_back" }, { max_parallel: 5 }), back, lost)).toHaveLength(5);
    expect(admit(aRollout({ kind: "upkeep" }, { max_parallel: 5 }), many, lost)).toHaveLength(5);
  });

  test("are those of the waves that were entered, in a fair order", () => {
    const wanting = [
      named("d", { sinceMs: NOW - 5 }),
      named("c", { attempt: 1, sinceMs: NOW - 9 }),
      named("b", { sinceMs: NOW - 5 }),
      named("z", { wave: 1, sinceMs: 0 }),
      named("a", { sinceMs: NOW }),
      named("y", { wave: 2 }),
    ];
    expect(names(admit(aRollout({ wave: 1 }), wanting, []))).toEqual(["b", "d", "a", "c", "z"]);
  });

  test.each(["draft", "awaiting_approval", "paused", "cancelled", "superseded", "rolled_back"] as const)(
    "are none while the rollout is %s",
    (state) => expect(admit(aRollout({ state }), many, [])).toEqual([]),
  );

  test("go the way of the rollout", () => {
    const both = [named("a"), named("b", { direction: "back", wave: 9 })];
    expect(names(admit(aRollout({ state: "rolling_back" }), both, []))).toEqual(["b"]);
    expect(names(admit(aRollout(), both, []))).toEqual(["a"]);
  });
});
