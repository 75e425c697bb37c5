import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findOutdated } from "../../../../../src/control-plane/core/alerts/agents.ts";
import { parseRules } from "../../../../../src/control-plane/core/alerts/evaluate.ts";
import { compareVersions } from "../../../../../src/protocol/agents/version-order.ts";
import { alertRuleSchema } from "../../../../../src/protocol/alerts/settings.ts";
import { AlertSimulation, someObservation } from "../../../../support/alerts/alert-simulation.ts";

const DAY = 86_400_000;
const NOW = 1_800_000_000_000;

const rules = (...given: Record<string, unknown>[]) =>
  parseRules(given.map((fields) => alertRuleSchema.parse({ condition: "agent_outdated", ...fields })));
const release = (version: string, days: number) => ({ version, addedAtMs: NOW - days * DAY });
const outdated = (...args: Parameters<typeof findOutdated>) => Object.fromEntries(findOutdated(...args));
const versions = ["1.2.0", "1.3.0~beta1", "1.3.0", "1.10.0", "no version"];

const of = (name: string, site: string, agentVersion: string, sinceMs: number | undefined, isAway = false) => {
  const subject = { kind: "asset", id: name, name, type: "gateway", tags: new Map([["site", site]]) } as const;
  return someObservation({ condition: "agent_outdated", subject, agentVersion, sinceMs, isAway });
};

describe("which versions are looked at", () => {
  test("those for which the service has had a newer release for long enough", () => {
    const releases = [release("1.3.0", 40), release("1.10.0", 20)];
    expect(outdated(versions, releases, [], NOW)).toEqual({
      "1.2.0": NOW - 40 * DAY,
      "1.3.0~beta1": NOW - 40 * DAY,
    });
    expect(outdated(versions, releases, rules({ for_s: 19 * 86_400 }), NOW)).toHaveProperty(["1.3.0"], NOW - 20 * DAY);
    expect(outdated(versions, [], [], NOW)).toEqual({});
  });

  test("those before the newest version of a rule, whatever releases there are", () => {
    const named = rules({ selector: "site=a", older_than: "1.3.0" }, { selector: "site=b", older_than: "1.2.0" });
    expect(outdated(versions, [], named, NOW)).toEqual({ "1.2.0": undefined, "1.3.0~beta1": undefined });
    expect(outdated(versions, [], rules({ enabled: false, older_than: "2.0.0" }), NOW)).toEqual({});
  });

  test("none that is as new as every release and every version of a rule", () => {
    const version = fc.stringMatching(/^[0-9]\.[0-9]{1,2}(~rc[0-9])?$/);
    fc.assert(
      fc.property(
        fc.array(version),
        fc.array(version),
        fc.array(version, { maxLength: 3 }),
        (running, known, named) => {
          const found = findOutdated(
            running,
            known.map((each) => release(each, 60)),
            rules(...named.map((each) => ({ older_than: each }))),
            NOW,
          );
          const isOld = (each: string) => [...known, ...named].some((other) => compareVersions(each, other) < 0);
          expect([...found.keys()].toSorted()).toEqual([...new Set(running.filter(isOld))].toSorted());
        },
      ),
    );
  });
});

describe("when it is told", () => {
  test("by the age of the newer release, or at once by the version that the first matching rule names", () => {
    const alerts = new AlertSimulation(
      rules(
        { selector: "site=dam", older_than: "1.3.0", severity: "warning" },
        { selector: "site=lab", enabled: false },
        { selector: "site=van", for_s: 60 * 86_400 },
      ),
    );
    alerts.run(
      [
        of("A", "dam", "1.2.0", undefined),
        of("B", "dam", "1.3.0", NOW - 90 * DAY),
        of("C", "lab", "1.0.0", NOW - 90 * DAY),
        of("D", "van", "1.0.0", NOW - 59 * DAY),
        of("E", "pump", "1.0.0", NOW - 30 * DAY),
        of("F", "pump", "1.0.0", NOW - 29 * DAY),
        // No release is newer: another rule is why it is looked at.
        of("G", "pump", "1.2.0", undefined),
        of("H", "dam", "1.2.0", undefined, true),
      ],
      NOW,
    );
    expect([...alerts.alerts.values()].map(({ subject, severity, state }) => [subject.name, severity, state])).toEqual([
      ["A", "warning", "firing"],
      ["E", "info", "firing"],
      ["H", "warning", "pending"],
    ]);
    alerts.run([of("A", "dam", "1.3.0", undefined)], NOW + 1);
    expect(alerts.firing).toEqual([]);
  });

  test.each([
    [{ condition: "disk_low", older_than: "1.0.0" }, "older_than"],
    [{ condition: "agent_outdated", older_than: "new" }, "older_than"],
    [{ condition: "agent_outdated", for_s: 367 * 86_400 }, "for_s"],
    [{ condition: "device_offline", for_s: 8 * 86_400 }, "for_s"],
  ])("a rule that means nothing is refused: %j", (fields, path) => {
    const { error } = alertRuleSchema.safeParse(fields);
    expect(error?.issues.map((issue) => issue.path)).toEqual([[path]]);
  });
});
