import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { affectedTests } from "../../../scripts/test/affected.ts";
import { EXECUTABLES, type Modules } from "../../../scripts/test/modules.ts";
import { needsOf } from "../../../scripts/test/needs.ts";
import { select } from "../../../scripts/test/selection.ts";
import { countsLine, isSuccessful, sum, type TestSummary } from "../../../scripts/test/summary.ts";
import { readTiers, shareOf } from "../../../scripts/test/tiers.ts";

const UNIT = "test/unit/lib/a.test.ts";
const REPO = "test/repo/x.test.ts";
const TLS = "test/unit/lib/tls.test.ts";
const API = "test/integration/api/a.test.ts";
const E2E = "test/e2e/x.test.ts";
const CHAOS = "test/chaos/run.test.ts";

// Written in parts, so that the real modules count this file's strings as no imports.
const SUPPORT = "test/support";
const ENGINE = `${SUPPORT}/docker-socket.ts`;
const CERTIFICATES = `${SUPPORT}/link/certificates.ts`;

const modules: Modules = new Map([
  ["src/x/a.ts", []],
  ["src/x/b.ts", ["src/x/a.ts"]],
  ["src/x/main.ts", ["src/x/b.ts"]],
  [EXECUTABLES, ["src/x/main.ts"]],
  [ENGINE, []],
  [CERTIFICATES, []],
  [`${SUPPORT}/rig.ts`, [ENGINE, EXECUTABLES]],
  [UNIT, ["src/x/b.ts"]],
  [REPO, []],
  [TLS, [CERTIFICATES]],
  [API, ["src/x/a.ts"]],
  [E2E, [`${SUPPORT}/rig.ts`]],
  [CHAOS, [`${SUPPORT}/rig.ts`]],
]);
const tiers = readTiers(modules);
const selected = (tier: keyof typeof tiers, ...args: string[]) => select(tier, args, { modules, tiers }).files;

describe("what a test needs", () => {
  it("is what the modules need that it reaches", () => {
    expect(needsOf(modules, UNIT)).toEqual([]);
    expect(needsOf(modules, TLS)).toEqual(["openssl"]);
    expect(needsOf(modules, E2E)).toEqual(["engine", "executables"]);
  });
});

describe("the tiers", () => {
  it("are quick without programs of the machine, and each contains the one before", () => {
    expect(tiers.quick).toEqual([UNIT, REPO, API]);
    expect(tiers.main).toEqual(expect.arrayContaining([...tiers.quick, TLS]));
    expect(tiers.all).toEqual(expect.arrayContaining([...tiers.main, CHAOS]));
  });

  it("share the rest among landings, so that each test runs in one of five", () => {
    const shares = [0, 1, 2, 3, 4].map((landing) => shareOf(tiers, landing));
    expect(shares.flat().toSorted()).toEqual(tiers.all.filter((path) => !tiers.main.includes(path)).toSorted());
    expect(shareOf(tiers, 1236)).toEqual(shares[1]);
  });
});

describe("a command line of the tests", () => {
  it.each([
    [["test/unit"], [UNIT, TLS]],
    [["./test/unit/lib/a"], [UNIT]],
    [[resolve(UNIT)], [UNIT]],
    [[`${UNIT}:12`], [UNIT]],
    [["-p", "chaos"], [CHAOS]],
    [["--project", "chaos"], [CHAOS]],
    [
      ["--project=e2e", "--project=unit"],
      [UNIT, TLS, E2E],
    ],
    [["test/chaos", "-t", "test/unit"], [CHAOS]],
  ])("%j takes from all tests what it names", (args, files) => {
    expect(selected("main", ...args)).toEqual(files);
  });

  it("without names takes the tier", () => {
    expect(selected("main")).toEqual(tiers.main);
    expect(selected("quick", "-t", "name")).toEqual(tiers.quick);
  });

  it("passes other options to vitest", () => {
    const { options, isVerbose } = select("all", ["--bail=1", "--verbose", "-t", "a b"], { modules, tiers });
    expect(options).toEqual(["--bail=1", "--testNamePattern", "a b"]);
    expect(isVerbose).toBe(true);
  });

  it.each([
    ["quick", ["test/e2e"], "test/e2e is not in this tier: npm test -- test/e2e runs it"],
    ["main", ["no/such"], "no test file matches no/such"],
    ["main", ["--project", "nothing"], "no test file of nothing"],
    ["main", ["--project=unit", "--project=nothing"], "no test file of nothing"],
    ["main", ["test/unit", "--project=e2e"], "no test file of e2e matches test/unit"],
    ["main", ["--changed", "no-such-branch"], "--changed=main"],
    ["main", ["test/unit", "-t"], "-t needs a value"],
  ] as const)("%s %j says what is wrong", (tier, args, message) => {
    expect(() => selected(tier, ...args)).toThrow(message);
  });

  it("takes what a change touches", () => {
    const commits: string[] = [];
    const changes = (commit: string) => (commits.push(commit), ["src/x/b.ts"]);
    expect(select("quick", ["--changed"], { modules, tiers, changes }).files).toEqual([UNIT, REPO]);
    select("quick", ["--changed=main~3"], { modules, tiers, changes });
    expect(commits).toEqual(["HEAD", "main~3"]);
  });
});

describe("what a change touches", () => {
  it.each([
    [[], []],
    [["src/x/a.ts"], [UNIT, REPO, API]],
    [[ENGINE], [REPO, E2E, CHAOS]],
    [["docs/api.md"], [REPO]],
    [["vitest.config.ts"], tiers.all],
    [[E2E], [REPO, E2E]],
  ])("%j: %j", (changed, files) => {
    expect(affectedTests(modules, changed, tiers.all)).toEqual(files);
  });
});

describe("the outcome of a test run", () => {
  const good: TestSummary = { passed: 3, failed: 0, skipped: [], broken: [] };
  const skipped = [{ name: "a", reason: "no root" }];

  it("is printed in one line", () => {
    expect(countsLine(good)).toBe("3 passed, 0 failed");
    expect(countsLine(sum(good, { ...good, skipped }))).toBe("6 passed, 0 failed, 1 skipped");
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
