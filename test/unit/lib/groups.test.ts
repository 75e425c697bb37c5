import fc from "fast-check";
import { expect, test } from "vitest";
import { Groups } from "../../../src/lib/groups.ts";

const KEYS = ["a", "b"];

test("behaves as a map of sets, of which none is empty", () => {
  const step = fc.record({
    isAdding: fc.boolean(),
    key: fc.constantFrom(...KEYS),
    value: fc.integer({ min: 0, max: 3 }),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const values = Array.from({ length: 4 }, (_, id) => ({ id }));
      const groups = new Groups<string, { id: number }>();
      const model = new Map(KEYS.map((key) => [key, new Set<{ id: number }>()]));
      for (const { isAdding, key, value: index } of steps) {
        const value = values[index]!;
        const expected = model.get(key)!;
        if (isAdding) expect(groups.add(key, value)).toBe(expected.add(value).size);
        else {
          groups.delete(key, value);
          expected.delete(value);
        }
      }
      const filled = KEYS.filter((key) => model.get(key)!.size > 0);
      expect([...groups.keys()].toSorted()).toEqual(filled);
      expect(groups.size).toBe(filled.length);
      for (const key of KEYS) expect(groups.of(key)).toEqual([...model.get(key)!]);
    }),
  );
});
