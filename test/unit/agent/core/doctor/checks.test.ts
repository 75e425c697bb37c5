import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  failedDependencies,
  CHECKS,
  type CheckId,
  checkOf,
  failedChecks,
  type CheckResult,
} from "../../../../../src/agent/core/doctor/checks.ts";
import { clashesWithApps } from "../../../../../src/agent/core/host/host-port.ts";
import { ConfigError } from "../../../../../src/agent/config/config-error.ts";
import type { ProbeContext, Probe } from "../../../../../src/agent/doctor/probe.ts";
import { probeClock } from "../../../../../src/agent/doctor/probes/clock.ts";
import { runChecks } from "../../../../../src/agent/doctor/run-checks.ts";
import { FakeClock } from "../../../../support/fake-clock.ts";

const IDS = CHECKS.map(({ id }) => id);
const GOOD: CheckResult = { verdict: "good", text: "fine" };
const BAD: CheckResult = { verdict: "bad", text: "broken", next: "mend it" };
const NOBODY = {} as ProbeContext;
/** The configuration as installed, with which no control plane is asked for its time. */
const NO_SETTINGS = new ConfigError("none");

const probes = (change: Partial<Record<CheckId, Probe>>): Record<CheckId, Probe> => ({
  ...(Object.fromEntries(IDS.map((id) => [id, async () => GOOD])) as unknown as Record<CheckId, Probe>),
  ...change,
});
const hang: Probe = () => new Promise(() => undefined);
const fall: Probe = () => Promise.reject(new Error("tripped"));

function allBelow(id: CheckId): CheckId[] {
  return checkOf(id).needs.flatMap((need) => [need].concat(allBelow(need)));
}

describe("the root causes of failed checks", () => {
  it("every check depends only on earlier checks", () => {
    for (const [index, { needs }] of CHECKS.entries()) {
      for (const need of needs) expect(IDS.slice(0, index)).toContain(need);
    }
  });

  it("reports exactly the lowest failed checks, and skips those that depend on them", async () => {
    await fc.assert(
      fc.asyncProperty(fc.subarray(IDS), async (broken) => {
        const asked = new Set<CheckId>();
        const watched = IDS.map((id): [CheckId, Probe] => [
          id,
          async () => {
            asked.add(id);
            return broken.includes(id) ? BAD : GOOD;
          },
        ]);
        const verdicts = await runChecks(probes(Object.fromEntries(watched)), NOBODY, new FakeClock());
        const isLowest = (id: CheckId): boolean => !allBelow(id).some((below) => broken.includes(below));
        const lowest = new Set(broken.filter(isLowest));
        expect(failedChecks(verdicts)).toEqual(IDS.filter((id) => lowest.has(id)));
        for (const id of IDS) {
          const isBlocked = allBelow(id).some((below) => broken.includes(below));
          expect([asked.has(id), verdicts.get(id)?.verdict === "skipped"]).toEqual([!isBlocked, isBlocked]);
          if (isBlocked) expect(failedDependencies(id, verdicts).every((root) => lowest.has(root))).toBe(true);
        }
      }),
    );
  });

  it("gives up a probe that hangs, counts one that throws as failed, and runs the others", async () => {
    const clock = new FakeClock();
    const running = runChecks(probes({ dns: hang, engine: hang, files: fall }), NOBODY, clock);
    await clock.advance(5_000);
    await clock.advance(500);
    const verdicts = await running;
    expect(failedChecks(verdicts)).toEqual(["dns", "engine", "files"]);
    expect(verdicts.get("files")?.text).toMatch(/tripped/);
    expect(verdicts.get("tcp")).toEqual({ verdict: "skipped", text: "Not checked, waits for: Host name." });
  });

  it("ends within 15 s even if every check is slow", async () => {
    const clock = new FakeClock();
    const slow: Probe = async () => {
      await clock.sleep(4_500);
      return GOOD;
    };
    const running = runChecks(probes(Object.fromEntries(IDS.map((id) => [id, slow]))), NOBODY, clock);
    for (let passed = 0; passed < 15_000; passed += 500) await clock.advance(500);
    expect((await running).size).toBe(IDS.length);
  });
});

describe("the clock", () => {
  it.each([
    [0, "bad"],
    [Date.UTC(2019, 5, 1), "bad"],
    [Date.UTC(2027, 5, 1), "good"],
    [Date.UTC(2160, 0, 1), "bad"],
  ])("at %d it is %s", async (now, expected) => {
    const verdict = await probeClock(
      {
        ...NOBODY,
        settings: NO_SETTINGS,
        configPath: "",
        readClock: async () => ({ clock_synced: null }),
        clock: new FakeClock(now),
      },
      AbortSignal.timeout(240_000),
    );
    expect(verdict.verdict).toBe(expected);
  });
});

describe("the port range of outgoing connections", () => {
  it.each([
    ["32768\t60999\n", "", false],
    ["1024 65535", "", true],
    ["1024 65535", "30000-32767", false],
    ["1024 65535", "8080,30000-31000,31001-32767", false],
    ["1024 65535", "30000-32766", true],
    ["32767 40000", "", true],
    ["", "", false],
  ])("%j with %j reserved: %s", (local, reserved, clashes) => {
    expect(clashesWithApps(local, reserved)).toBe(clashes);
  });
});
