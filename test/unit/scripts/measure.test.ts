import { describe, expect, it } from "vitest";
import { median, paired } from "../../bench/measure.ts";

describe("median", () => {
  it.each([
    [[3], 3],
    [[5, 1, 3], 3],
    [[4, 1, 3, 2], 2.5],
  ])("of %j is %d", (values, expected) => {
    expect(median(values)).toBe(expected);
  });
});

describe("paired measurement", () => {
  it("alternates, lets each go first, and discards the first round", async () => {
    const order: string[] = [];
    const result = await paired(
      2,
      async (round) => {
        order.push(`A${round}`);
        return round === 0 ? 1000 : 2;
      },
      async (round) => {
        order.push(`B${round}`);
        return round === 0 ? 1 : 4;
      },
    );
    expect(order).toEqual(["A0", "B0", "B1", "A1", "A2", "B2"]);
    expect(result).toEqual({ ours: [2, 2], reference: [4, 4], ratio: 0.5 });
  });
});
