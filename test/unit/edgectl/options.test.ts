import { expect, test } from "vitest";
import { wholeNumber } from "../../../src/edgectl/commands/options.ts";

test("a whole number is accepted in its range only, also below zero", () => {
  const port = wholeNumber(1, 65_535);
  const score = wholeNumber(-1000, 1000);
  expect(["1", "00080", "65535"].map((text) => port(text))).toEqual([1, 80, 65_535]);
  expect(["-1000", "-1", "0", "1000"].map((text) => score(text))).toEqual([-1000, -1, 0, 1000]);
  for (const text of ["", "0", "-1", "65536", "1.5", "1e3", "+1", " 1", "0x1", "9999999999"])
    expect(() => port(text), text).toThrow("Give a whole number from 1 to 65535.");
  for (const text of ["-1001", "1001", "-", "--1", "-0", "-1.5"])
    expect(() => score(text), text).toThrow("Give a whole number from -1000 to 1000.");
});
