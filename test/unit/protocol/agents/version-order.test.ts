import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareVersions, isVersion } from "../../../../src/protocol/agents/version-order.ts";

const part = fc.oneof(fc.nat({ max: 12 }).map(String), fc.constantFrom(".", "~", "+", "a", "rc", "00", "Z"));
const version = fc.array(part, { maxLength: 6 }).map((parts) => `1${parts.join("")}`);
const DPKG = "/usr/bin/dpkg";
const hasDpkg = spawnSync(DPKG, ["--version"]).status === 0;

describe("the order of versions", () => {
  it.each([
    ["1.2.0", "1.10.0"],
    ["1.0.0~beta1", "1.0.0"],
    ["1.0.0", "1.0.0+next1"],
    ["0.9", "0.10"],
    ["1.0", "1.0.0"],
    ["1.0a", "1.0+"],
  ])("%s is older than %s", (older, newer) => {
    expect(compareVersions(older, newer)).toBeLessThan(0);
    expect(compareVersions(newer, older)).toBeGreaterThan(0);
  });

  it("is a total order", () => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(Math.sign(compareVersions(a, b)) + Math.sign(compareVersions(b, a))).toBe(0);
        if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0)
          expect(compareVersions(a, c)).toBeLessThanOrEqual(0);
      }),
    );
  });

  it.skipIf(!hasDpkg)("is that of dpkg", () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        const isOlder = spawnSync(DPKG, ["--compare-versions", a, "lt", b]).status === 0;
        expect([a, b, compareVersions(a, b) < 0]).toEqual([a, b, isOlder]);
      }),
      { numRuns: 50 },
    );
  });

  it.each(["", "../1", "1/2", "v1", ".1", "1-2", `1${"0".repeat(64)}`, "1\n"])("%j is no version", (text) => {
    expect(isVersion(text)).toBe(false);
  });
});
