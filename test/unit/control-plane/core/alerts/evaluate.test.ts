import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Observation } from "../../../../../src/control-plane/core/alerts/alert.ts";
import { type Level, widestLimits } from "../../../../../src/control-plane/core/alerts/levels.ts";
import {
  MAX_OPEN_ALERTS,
  parseRules,
  shortestAbsenceMs,
} from "../../../../../src/control-plane/core/alerts/evaluate.ts";
import { ALERT_CONDITIONS, type AlertCondition } from "../../../../../src/protocol/alerts/condition.ts";
import { alertRuleSchema } from "../../../../../src/protocol/alerts/settings.ts";
import { AlertSimulation, someObservation } from "../../../../support/alerts/alert-simulation.ts";

const MINUTE = 60_000;
const START = 1_800_000_000_000;

const rule = (fields: Record<string, unknown>) => alertRuleSchema.parse(fields);
const offline = (name: string, sinceMs: number, fields: Partial<Observation> = {}) =>
  someObservation({ name, sinceMs, isAway: true, ...fields });
const app = (condition: AlertCondition, isAway: boolean) => someObservation({ condition, isAway });

describe("when an alert fires and is resolved", () => {
  test("a device is offline after half an hour, and back at once", () => {
    const alerts = new AlertSimulation();
    alerts.run([offline("GW-1", START)], START + 30 * MINUTE - 1);
    expect(alerts.firing).toEqual([]);
    alerts.run([offline("GW-1", START)], START + 30 * MINUTE);
    expect(alerts.firing).toEqual(["device_offline GW-1"]);
    alerts.run([], START + 31 * MINUTE);
    expect(alerts.firing).toEqual([]);
  });

  test("the first rule that matches changes the time, the severity and whether there is an alert", () => {
    const rules = parseRules([
      rule({ condition: "device_offline", selector: "role=lab", enabled: false }),
      rule({ condition: "device_offline", selector: "role=kiosk", for_s: 60, severity: "info" }),
      rule({ condition: "device_offline", for_s: 600 }),
    ]);
    const alerts = new AlertSimulation(rules);
    const of = (name: string, role: string) => {
      const subject = { kind: "asset", id: name, name, type: "gateway", tags: new Map([["role", role]]) } as const;
      return offline(name, START, { subject });
    };
    const all = [of("A", "lab"), of("B", "kiosk"), of("C", "van")];
    alerts.run(all, START + MINUTE);
    expect([...alerts.alerts.values()].map(({ subject, severity }) => [subject.name, severity])).toEqual([
      ["B", "info"],
    ]);
    alerts.run(all, START + 20 * MINUTE);
    expect(alerts.firing).toEqual(["device_offline B", "device_offline C"]);
    expect(shortestAbsenceMs(rules)).toBe(54_000);
  });

  test("a device that is usually gone for hours is alarmed about when it is gone for longer", () => {
    const alerts = new AlertSimulation();
    const gone = offline("GW-1", START, { usualPauseMs: 8 * 60 * MINUTE });
    alerts.run([gone], START + 8 * 60 * MINUTE);
    expect(alerts.firing).toEqual([]);
    alerts.run([gone], START + 9 * 60 * MINUTE);
    expect(alerts.firing).toEqual(["device_offline GW-1"]);
  });

  test("the apps of a device that is away do not fire, and those that did stay", () => {
    const alerts = new AlertSimulation();
    alerts.run([app("app_missing", false)], START);
    alerts.run([app("app_missing", false)], START + 5 * MINUTE);
    expect(alerts.firing).toEqual(["app_missing GW-1"]);
    alerts.run([app("app_missing", true), app("app_unhealthy", true)], START + 6 * MINUTE);
    alerts.run([app("app_missing", true), app("app_unhealthy", true)], START + 60 * MINUTE);
    expect(alerts.firing).toEqual(["app_missing GW-1"]);
    alerts.run([app("app_unhealthy", false)], START + 61 * MINUTE);
    expect(alerts.firing).toEqual(["app_missing GW-1", "app_unhealthy GW-1"]);
  });

  test("what comes and goes is one alert", () => {
    const alerts = new AlertSimulation();
    for (let minute = 0; minute < 24 * 60; minute++) {
      const observed = minute % 2 === 0 ? [someObservation({ condition: "app_restarting" })] : [];
      alerts.run(observed, START + minute * MINUTE);
    }
    expect(alerts.fired).toBe(1);
  });

  test("what holds for a moment leaves no trace, and there is a maximum", () => {
    const alerts = new AlertSimulation();
    alerts.run([someObservation({ condition: "app_missing" })], START);
    alerts.run([], START + MINUTE);
    alerts.run([], START + 10 * MINUTE);
    expect([alerts.alerts.size, alerts.fired]).toEqual([0, 0]);
    const flood = Array.from({ length: MAX_OPEN_ALERTS + 5 }, (_, at) => offline(`GW-${at}`, START - 60 * MINUTE));
    alerts.run(flood, START);
    expect(alerts.alerts.size).toBe(MAX_OPEN_ALERTS);
  });
});

describe("what devices measure", () => {
  const QUARTER = 15 * MINUTE;
  /** Temperatures of quarters of an hour, the last of which has just ended at `START`; `undefined` is a gap. */
  const levels = (...values: readonly (number | undefined)[]): readonly Level[] =>
    values.flatMap((value, index) => {
      const untilMs = START - (values.length - 1 - index) * QUARTER;
      return value === undefined ? [] : [{ fromMs: untilMs - QUARTER, untilMs, value }];
    });
  const hot = (...values: readonly (number | undefined)[]) =>
    someObservation({ condition: "temperature_high", levels: levels(...values) });
  const hot100 = (name: string, role: string) => {
    const subject = { kind: "asset", id: name, name, type: "gateway", tags: new Map([["role", role]]) } as const;
    return { ...hot(100), subject };
  };
  const weak = (name: string, role: string, ...values: readonly number[]) => {
    const subject = { kind: "asset", id: name, name, type: "gateway", tags: new Map([["role", role]]) } as const;
    return { ...someObservation({ condition: "signal_low", levels: levels(...values) }), subject };
  };
  const hour = parseRules([rule({ condition: "temperature_high", above: 70, for_s: 3_600 })]);

  test("fires when it was above the limit for long enough, and is resolved when it has not been for a while", () => {
    const alerts = new AlertSimulation();
    alerts.run([hot(90, 90, 77)], START);
    expect(alerts.firing).toEqual([]);
    alerts.run([hot(50, 50, 81)], START);
    expect(alerts.firing).toEqual(["temperature_high GW-1"]);
    expect([...alerts.alerts.values()][0]?.sinceMs).toBe(START - QUARTER);
    alerts.run([], START + 20 * MINUTE);
    expect(alerts.firing).toHaveLength(1);
    alerts.run([], START + 35 * MINUTE);
    expect(alerts.firing).toEqual([]);
  });

  test("must be known to last: the time until the next message of the device does not count, and a gap ends it", () => {
    const alerts = new AlertSimulation(hour);
    alerts.run([hot(71, 71, 71)], START + 10 * 60 * MINUTE);
    alerts.run([hot(71, 71, undefined, 71, 71)], START);
    alerts.run([hot(71, 70, 71, 71, 71)], START);
    expect(alerts.alerts.size).toBe(0);
    alerts.run([hot(69, 71, 71, 71, 71)], START);
    expect(alerts.firing).toEqual(["temperature_high GW-1"]);
    expect([...alerts.alerts.values()][0]?.sinceMs).toBe(START - 4 * QUARTER);
  });

  test("has the limit of the first rule that matches, and is looked at from the lowest limit on", () => {
    const rules = parseRules([
      rule({ condition: "temperature_high", selector: "role=oven", above: 120 }),
      rule({ condition: "temperature_high", selector: "role=lab", enabled: false, above: 60 }),
      rule({ condition: "temperature_high", severity: "critical" }),
      rule({ condition: "disk_high", selector: "role=oven", enabled: true, above: 75 }),
    ]);
    const alerts = new AlertSimulation(rules);
    alerts.run([hot100("A", "oven"), hot100("B", "lab"), hot100("C", "van")], START);
    expect([...alerts.alerts.values()].map(({ subject, severity }) => [subject.name, severity])).toEqual([
      ["C", "critical"],
    ]);
    expect(Object.fromEntries(widestLimits(rules))).toEqual({
      temperature_high: 77,
      memory_high: 92,
      disk_high: 72,
      inodes_high: 87,
      cpu_throttled: 47,
    });
  });

  test("lasts until it is back by a margin, once it was beyond the limit for long enough", () => {
    const alerts = new AlertSimulation(hour);
    // About the limit: never for an hour.
    alerts.run([hot(71, 71, 71, 69, 71, 71, 71, 70)], START);
    expect(alerts.firing).toEqual([]);
    alerts.run([hot(71, 71, 71, 71, 69, 70, 68)], START);
    expect(alerts.firing).toEqual(["temperature_high GW-1"]);
    expect([...alerts.alerts.values()][0]?.sinceMs).toBe(START - 7 * QUARTER);
    alerts.run([hot(71, 71, 71, 71, 67, 70, 71)], START + MINUTE);
    alerts.run([hot(71, 71, 71, 71, 67, 70, 69)], START + 2 * MINUTE);
    alerts.run([hot(71, 71, 71, 71, 67, 70, 69)], START + 17 * MINUTE);
    expect(alerts.firing).toEqual([]);
  });

  test("fires below a limit where the condition is so, with the limit of its rule", () => {
    const rules = parseRules([
      rule({ condition: "signal_low", selector: "role=van", enabled: true, below: 30, for_s: 900 }),
      rule({ condition: "signal_low", enabled: true }),
      rule({ condition: "temperature_low", selector: "role=lab", enabled: true, below: -20 }),
    ]);
    const alerts = new AlertSimulation(rules);
    alerts.run([weak("A", "van", 29), weak("B", "van", 30), weak("C", "lab", 19), weak("D", "lab", 19, 19)], START);
    expect(alerts.firing).toEqual(["signal_low A", "signal_low D"]);
    alerts.run([weak("A", "van", 29, 32), weak("D", "lab", 19, 19, 24)], START + MINUTE);
    alerts.run([weak("A", "van", 29, 32), weak("D", "lab", 19, 19, 24)], START + 17 * MINUTE);
    expect(alerts.firing).toEqual(["signal_low A"]);
    expect(Object.fromEntries(widestLimits(rules))).toMatchObject({ signal_low: 33, temperature_low: -17 });
  });

  test("does not fire while the device is away, and what had fired stays", () => {
    const alerts = new AlertSimulation();
    alerts.run([{ ...hot(90), isAway: true }], START);
    expect(alerts.firing).toEqual([]);
    alerts.run([hot(90)], START);
    alerts.run([{ ...hot(90), isAway: true }], START + 9 * 60 * MINUTE);
    expect(alerts.firing).toHaveLength(1);
  });

  test.each([
    [{ condition: "temperature_high", above: 59 }, "above"],
    [{ condition: "memory_high", above: 69 }, "above"],
    [{ condition: "disk_low", above: 90 }, "above"],
    [{ condition: "temperature_high", below: 90 }, "below"],
    [{ condition: "signal_low", above: 20 }, "above"],
    [{ condition: "signal_low", below: 51 }, "below"],
    [{ condition: "temperature_low", below: -201 }, "below"],
    [{ condition: "device_offline", below: 1 }, "below"],
    [{ condition: "temperature_high", for_s: 6 * 3_600 + 1 }, "for_s"],
  ])("a rule that cannot be judged is refused: %j", (fields, path) => {
    const { error } = alertRuleSchema.safeParse(fields);
    expect(error?.issues.map((issue) => issue.path)).toEqual([[path]]);
  });
});

describe("alerts follow from states and the time alone", () => {
  const conditions: readonly AlertCondition[] = ["device_offline", "app_unhealthy", "disk_low", "deployment_failed"];
  const SETTLED_MS =
    1000 * Math.max(...conditions.map((each) => ALERT_CONDITIONS[each].forS + ALERT_CONDITIONS[each].keepFiringForS));

  test("however often it was looked, and when not at all, the same is open in the end", () => {
    const phase = fc.record({
      minutes: fc.integer({ min: 1, max: 40 }),
      held: fc.uniqueArray(
        fc.record({ name: fc.constantFrom("A", "B", "C"), condition: fc.constantFrom(...conditions) }),
        {
          selector: ({ name, condition }) => `${name} ${condition}`,
          maxLength: 6,
        },
      ),
    });
    fc.assert(
      fc.property(fc.array(phase, { minLength: 1, maxLength: 6 }), fc.infiniteStream(fc.boolean()), (phases, looks) => {
        const [always, sometimes] = [new AlertSimulation(), new AlertSimulation()];
        let now = START;
        const since = new Map<string, number>();
        const last = phases.length - 1;
        for (const [index, { minutes, held }] of phases.entries()) {
          const keys = new Set(held.map(({ name, condition }) => `${name} ${condition}`));
          for (const key of since.keys()) if (!keys.has(key)) since.delete(key);
          for (const key of keys) if (!since.has(key)) since.set(key, now);
          // The state lasts in the end until whatever it means must be told.
          const until = now + (index === last ? 2 * SETTLED_MS : minutes * MINUTE);
          for (; now <= until; now += MINUTE) {
            const observed = held.map(({ name, condition }) => {
              const sinceMs = condition === "device_offline" ? since.get(`${name} ${condition}`) : undefined;
              return someObservation({ name, condition, sinceMs });
            });
            always.run(observed, now);
            const isOver = index === last && now > until - SETTLED_MS - 2 * MINUTE;
            if (isOver || looks.next().value) sometimes.run(observed, now);
          }
        }
        expect(sometimes.firing).toEqual(always.firing);
        const expected = (phases[last]?.held ?? []).map(({ name, condition }) => `${condition} ${name}`);
        expect(always.firing).toEqual(expected.toSorted());
      }),
      { numRuns: 60 },
    );
  });

  test("looking twice at the same changes nothing", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 20 }), (ages) => {
        const alerts = new AlertSimulation();
        const observed = ages.map((age, at) => offline(`GW-${at}`, START - age * MINUTE));
        alerts.run(observed, START);
        const before = [...alerts.alerts.values()];
        alerts.run(observed, START);
        expect([...alerts.alerts.values()]).toEqual(before);
      }),
    );
  });
});
