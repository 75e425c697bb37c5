import fc from "fast-check";
import { expect, test } from "vitest";
import { FairQueue } from "../../../../../src/control-plane/core/people/fair-queue.ts";

const LIMITS = { perSource: 4, total: 10 };

const others = (source: string): { source: string; goesFirst: boolean } => ({ source, goesFirst: false });

function drain<Item>(queue: FairQueue<Item>): Item[] {
  return Array.from({ length: queue.size }, () => queue.shift()!);
}

test("sources take turns", () => {
  const queue = new FairQueue<string>(LIMITS);
  for (const item of ["a1", "a2", "a3"]) queue.push(item, others("a"));
  queue.push("b1", others("b"));
  queue.push("c1", { source: "c", goesFirst: true });
  expect(drain(queue)).toEqual(["c1", "a1", "b1", "a2", "a3"]);
  expect(queue.shift()).toBeUndefined();
});

test("a source with too many is refused, and the longest one makes room for another", () => {
  const queue = new FairQueue<string>(LIMITS);
  const refused: (string | undefined)[] = [];
  for (const source of ["a", "b", "c"])
    for (let number = 1; number <= 5; number++) refused.push(queue.push(`${source}${number}`, others(source)));
  // The fifth of each, and those of c that would have made it longer than others.
  expect(refused.filter((item) => item !== undefined)).toEqual(["a5", "b5", "a4", "c4", "c5"]);
  expect(queue.size).toBe(LIMITS.total);
  expect(queue.push("d1", others("d"))).toBe("b4");
  expect(queue.push("e1", { source: "e", goesFirst: true })).toBeUndefined();
  expect(queue.size).toBe(LIMITS.total + 1);
});

test("a full queue of single items has no room for a stranger, and still for one that goes first", () => {
  const queue = new FairQueue<string>(LIMITS);
  for (let number = 0; number < LIMITS.total; number++) queue.push(`s${number}`, others(`s${number}`));
  expect(queue.push("late", others("late"))).toBe("late");
  expect(queue.push("known", { source: "late", goesFirst: true })).toBeUndefined();
  expect(queue.shift()).toBe("known");
});

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ source: fc.constantFrom("a", "b", "c", "d", "e"), goesFirst: fc.boolean() }) },
  { weight: 2, arbitrary: fc.constant("shift" as const) },
  { weight: 1, arbitrary: fc.constant("remove" as const) },
);

test("whatever happens, nothing is lost or returned twice, and the bounds hold", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new FairQueue<number>(LIMITS);
      const inside = new Map<number, { source: string; goesFirst: boolean }>();
      steps.forEach((what, item) => {
        if (what === "shift") {
          const next = queue.shift();
          expect(next === undefined).toBe(inside.size === 0);
          if (next !== undefined) expect(inside.delete(next)).toBe(true);
        } else if (what === "remove") {
          const [entry] = inside;
          if (!entry) return;
          queue.remove(...entry);
          queue.remove(...entry);
          inside.delete(entry[0]);
        } else {
          inside.set(item, what);
          const refused = queue.push(item, what);
          if (refused !== undefined) expect(inside.delete(refused)).toBe(true);
        }
        expect(queue.size).toBe(inside.size);
        for (const goesFirst of [true, false]) {
          const lane = [...inside.values()].filter((place) => place.goesFirst === goesFirst);
          expect(lane.length).toBeLessThanOrEqual(LIMITS.total);
          for (const items of Map.groupBy(lane, ({ source }) => source).values())
            expect(items.length).toBeLessThanOrEqual(LIMITS.perSource);
        }
      });
    }),
  );
});

test("somebody who waits is served after at most one item of each other source", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 60 }), (flood) => {
      const queue = new FairQueue<string>({ perSource: 4, total: 100 });
      for (const source of flood) queue.push(source, others(source));
      queue.push("honest", others("honest"));
      let before = 0;
      while (queue.shift() !== "honest") {
        before++;
        queue.push("a", others("a"));
      }
      expect(before).toBeLessThanOrEqual(4);
    }),
  );
});
