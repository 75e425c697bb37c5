import { describe, expect, it } from "vitest";
import { needsExecutables } from "../../../scripts/test/selection.ts";
import { type TestSummary, countsLine, isSuccessful } from "../../../scripts/test/summary.ts";

describe("whether a test run needs the executables built", () => {
  it.each([
    [[], true],
    [["--project", "e2e"], true],
    [["--project=chaos", "--project", "unit"], true],
    [["--project", "unit", "--project", "contract"], false],
    [["test/unit/lib/clock.test.ts"], false],
    [["test/e2e/success.test.ts"], true],
    [["--project", "adversary"], true],
    [["-t", "some name"], true],
  ])("%j: %s", (args, needed) => {
    expect(needsExecutables(args)).toBe(needed);
  });
});

describe("the outcome of a test run", () => {
  const good: TestSummary = { passed: 3, failed: 0, skipped: [], broken: [] };
  const skipped = [{ name: "a", reason: "no root" }];

  it("is printed in one line", () => {
    expect(countsLine(good)).toBe("3 passed, 0 failed");
    expect(countsLine({ ...good, skipped })).toBe("3 passed, 0 failed, 1 skipped");
  });

  it.each([
    [good, true],
    [{ ...good, skipped }, true],
    [{ ...good, failed: 1 }, false],
    [{ ...good, broken: ["a.test.ts: cannot be loaded"] }, false],
    [{ ...good, passed: 0 }, false],
    [{ ...good, skipped: [{ name: "a", reason: "qemu is not installed" }] }, false],
    [{ ...good, passed: 0, skipped }, false],
  ])("%j is good: %s", (summary, expected) => {
    expect(isSuccessful(summary)).toBe(expected);
  });
});
