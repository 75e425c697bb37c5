import { expect, test } from "vitest";
import { integerString, MAX_UNIX_SECONDS, unixSeconds } from "../../../src/protocol/values/scalars.ts";

const reasonsOf = (
  schema: { safeParse: (input: unknown) => { error?: { issues: { message: string }[] } } },
  input: unknown,
) => schema.safeParse(input).error?.issues.map(({ message }) => message);

test.each([
  ["0", undefined],
  ["9007199254740991", undefined],
  ["-1", ["must be from 0 to 9007199254740991"]],
  ["10000000000000000", ["must be from 0 to 9007199254740991"]],
  ["1e3", ["must be an integer"]],
  [" 7", ["must be an integer"]],
])("an integer in a query, %s, is refused with its bounds", (text, reasons) => {
  expect(reasonsOf(integerString(0, Number.MAX_SAFE_INTEGER), text)).toEqual(reasons);
});

test("a time in milliseconds is refused with its unit", () => {
  const reasons = [expect.stringContaining("Unix seconds")];
  expect(reasonsOf(integerString(0, MAX_UNIX_SECONDS), "1790000000000")).toEqual(reasons);
  expect(reasonsOf(unixSeconds("End."), 1_790_000_000_000)).toEqual(reasons);
  expect(reasonsOf(unixSeconds("End."), 1_790_000_000)).toBeUndefined();
});
