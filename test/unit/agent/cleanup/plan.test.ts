import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CleanupView, type PulledImage, planCleanup } from "../../../../src/agent/core/image/image-cleanup.ts";

const RULES = { keepMs: 1_000, minFreeShare: 0.15 };
const NOW = 1_000_000;
const ref = (name: string): string => `registry.example.com/team/${name}:1`;

function view(changes: Partial<CleanupView> = {}): CleanupView {
  return {
    pulled: [],
    images: [],
    needed: new Set(),
    pulling: new Set(),
    freeDisk: 0.5,
    nowMs: NOW,
    deletionMs: NOW,
    ...changes,
  };
}

const pulled = (id: string, fields: Partial<PulledImage> = {}): PulledImage => ({
  reference: ref(id),
  id,
  before: null,
  unneededSince: NOW - 10_000,
  ...fields,
});
/** With a clock that has not jumped. */
const at = (nowMs: number) => ({ nowMs, deletionMs: nowMs });
const there = (id: string, names: readonly string[] = [ref(id)]) => ({ id, names, size: 10 });

const ids = fc.constantFrom<string>("a", "b", "c", "d");
const anything = fc.record({
  pulled: fc.array(
    fc.record({
      reference: ids.map(ref),
      id: fc.option(ids),
      before: fc.option(ids),
      unneededSince: fc.option(fc.integer({ min: 0, max: 2 * NOW })),
    }),
  ),
  images: fc.uniqueArray(
    fc.record({
      id: ids,
      names: fc.uniqueArray(fc.constantFrom(...["a", "b", "c", "d"].map(ref), "mine:1")),
      size: fc.nat(),
    }),
    { selector: ({ id }) => id },
  ),
  needed: fc.array(ids).map((list) => new Set(list)),
  pulling: fc.array(ids.map(ref)).map((list) => new Set(list)),
  freeDisk: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
  nowMs: fc.constant(NOW),
  deletionMs: fc.constant(NOW),
});

describe("an image to remove", () => {
  it("is never needed, absent, not pulled by the agent, or tagged by others", () => {
    fc.assert(
      fc.property(anything, (state) => {
        for (const { id, names } of planCleanup(state, RULES).removals) {
          expect(state.needed.has(id)).toBe(false);
          expect(state.images.some((image) => image.id === id)).toBe(true);
          const own = state.pulled.filter((entry) => entry.id === id || entry.id === null);
          expect(own.some((entry: PulledImage) => entry.before !== id && !state.pulling.has(entry.reference))).toBe(
            true,
          );
          expect(names).not.toContain("mine:1");
        }
      }),
    );
  });

  it("occurs at most once, and never before its age while there is disk space", () => {
    fc.assert(
      fc.property(anything, (state) => {
        const all = planCleanup(state, RULES).removals.map(({ id }) => id);
        expect(new Set(all).size).toBe(all.length);
        const restrained = planCleanup({ ...state, freeDisk: 1 }, { ...RULES, keepMs: 10 * NOW });
        expect(restrained.removals).toEqual([]);
      }),
    );
  });

  it("is the same when planned twice", () => {
    fc.assert(
      fc.property(anything, (state) => {
        const once = planCleanup(state, RULES);
        const twice = planCleanup({ ...state, pulled: once.pulled }, RULES);
        expect(twice).toEqual(once);
      }),
    );
  });

  it("has been unneeded for long enough; the oldest comes first", () => {
    const entries = [
      pulled("young", { unneededSince: NOW - 999 }),
      pulled("old", { unneededSince: NOW - 1_000 }),
      pulled("older", { unneededSince: NOW - 2_000 }),
    ];
    const plan = planCleanup(
      view({ pulled: entries, images: ["young", "old", "older"].map((id) => there(id)) }),
      RULES,
    );
    expect(plan.removals).toMatchObject([
      { id: "older", reason: "age" },
      { id: "old", reason: "age", bytes: 10, names: [ref("old")] },
    ]);
  });

  it("is any unneeded one when the disk is nearly full", () => {
    const state = view({ pulled: [pulled("young", { unneededSince: NOW })], images: [there("young")], freeDisk: 0.14 });
    expect(planCleanup(state, RULES).removals).toMatchObject([{ id: "young", reason: "disk" }]);
    expect(planCleanup({ ...state, freeDisk: undefined }, RULES).removals).toEqual([]);
  });

  it("ages from when the last app stopped needing it", () => {
    const needed = view({ pulled: [pulled("a")], images: [there("a")], needed: new Set(["a"]) });
    const first = planCleanup(needed, RULES);
    expect(first.pulled).toMatchObject([{ unneededSince: null }]);
    const second = planCleanup({ ...needed, needed: new Set(), pulled: first.pulled, ...at(NOW + 5_000) }, RULES);
    expect(second).toMatchObject({ removals: [], pulled: [{ unneededSince: NOW + 5_000 }] });
    expect(
      planCleanup({ ...needed, needed: new Set(), pulled: second.pulled, ...at(NOW + 6_000) }, RULES).removals,
    ).toHaveLength(1);
  });

  it("is none for its age by a clock that has jumped, forwards or back", () => {
    const state = view({ pulled: [pulled("a", { unneededSince: NOW - 500 })], images: [there("a")] });
    const ahead = planCleanup({ ...state, nowMs: NOW + 1e9, deletionMs: NOW }, RULES);
    expect(ahead.removals).toEqual([]);
    const back = planCleanup({ ...state, deletionMs: NOW - 1e9 }, RULES);
    expect(back.removals).toEqual([]);
    expect(planCleanup({ ...state, pulled: back.pulled }, RULES).removals).toEqual([]);
  });

  it("includes one whose pull was interrupted, but not the one before that pull", () => {
    const cutOff = pulled("a", { id: null, unneededSince: null });
    const state = view({ pulled: [cutOff], images: [there("a")] });
    expect(planCleanup(state, RULES).pulled).toMatchObject([{ id: "a", unneededSince: NOW }]);
    expect(planCleanup({ ...state, pulled: [{ ...cutOff, before: "a" }] }, RULES).pulled).toEqual([]);
  });

  it("is recognized by its digest, and after its name moved to another image", () => {
    const digest = `sha256:${"5".repeat(64)}`;
    const byDigest = pulled("a", { reference: `registry.example.com/team/a@${digest}` });
    const tagged = there("a", [`registry.example.com/team/a:${digest.replace(":", "-")}`]);
    expect(planCleanup(view({ pulled: [byDigest], images: [tagged] }), RULES).removals).toHaveLength(1);
    expect(planCleanup(view({ pulled: [pulled("b")], images: [there("b", [])] }), RULES).removals).toMatchObject([
      { names: [] },
    ]);
  });
});
