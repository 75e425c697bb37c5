import fc from "fast-check";
import { expect, test } from "vitest";
import {
  isSameIccid,
  luhnDigit,
  otherIccids,
  withoutLuhnDigit,
} from "../../../../../src/control-plane/core/sims/iccid.ts";

const digits = (length: number) => fc.stringMatching(new RegExp(`^[0-9]{${length}}$`));

test.each([
  ["7992739871", 3],
  ["8988303000001234567", 1],
  ["0", 0],
])("the Luhn digit of %s is %i", (number, digit) => expect(luhnDigit(number)).toBe(digit));

test("a number with its Luhn digit is the same SIM, with any other digit it is not", () => {
  fc.assert(
    fc.property(digits(19), fc.integer({ min: 1, max: 9 }), (iccid, off) => {
      const right = luhnDigit(iccid);
      expect(isSameIccid(iccid, `${iccid}${right}`)).toBe(true);
      expect(isSameIccid(`${iccid}${right}`, iccid)).toBe(true);
      expect(isSameIccid(iccid, `${iccid}${(right + off) % 10}`)).toBe(false);
      expect(withoutLuhnDigit(`${iccid}${right}`)).toBe(iccid);
      expect(withoutLuhnDigit(iccid)).toBe(iccid);
    }),
  );
});

test("names that are no numbers are the same only if they are equal", () => {
  expect(isSameIccid("test-sim", "test-sim")).toBe(true);
  expect(isSameIccid("test-sim", "test-sim0")).toBe(false);
});

test("the other forms of a number are those that name the same SIM", () => {
  fc.assert(
    fc.property(fc.oneof(digits(18), digits(19), digits(20), digits(12)), (iccid) => {
      const others = otherIccids(iccid);
      for (const other of others) expect(isSameIccid(iccid, other)).toBe(true);
      const long = `${iccid}${luhnDigit(iccid)}`;
      expect(others.includes(long)).toBe(isSameIccid(iccid, long));
      expect(others.includes(iccid.slice(0, -1))).toBe(isSameIccid(iccid, iccid.slice(0, -1)));
    }),
  );
  expect(otherIccids("8988303000001234567")).toEqual(["89883030000012345671"]);
  expect(otherIccids("89883030000012345671")).toEqual(["8988303000001234567"]);
  expect(otherIccids("89883030000012345672")).toEqual([]);
  expect(otherIccids("test-sim")).toEqual([]);
});
