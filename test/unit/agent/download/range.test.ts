import { expect, test } from "vitest";
import { parseRange } from "../../../../src/agent/download/range.ts";

test.each([
  ["bytes=0-", { start: 0, end: 100 }],
  ["bytes=40-", { start: 40, end: 100 }],
  ["bytes=40-49", { start: 40, end: 50 }],
  ["bytes=99-500", { start: 99, end: 100 }],
  ["bytes=100-", "unsatisfiable"],
  ["bytes=50-40", "unsatisfiable"],
  ["bytes=-5", undefined],
  ["bytes=0-1,5-6", undefined],
  ["lines=1-2", undefined],
  [undefined, undefined],
])("of 100 bytes, %s asks for %j", (header, expected) => {
  expect(parseRange(header, 100)).toEqual(expected);
});
