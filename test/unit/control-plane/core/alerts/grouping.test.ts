import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseRules } from "../../../../../src/control-plane/core/alerts/evaluate.ts";
import { MAX_GROUPS_PER_HOUR } from "../../../../../src/control-plane/core/alerts/grouping.ts";
import { alertRuleSchema } from "../../../../../src/protocol/alerts/settings.ts";
import { AlertSimulation, someObservation, someRoute } from "../../../../support/alerts/alert-simulation.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const START = Date.UTC(2026, 6, 1, 12);

const lost = (name: string, sinceMs: number) => someObservation({ name, sinceMs, isAway: true });
const full = (name: string) => someObservation({ name, condition: "deployment_failed" });

/** Runs once in a step, with what the function returns for the time. */
function play(
  alerts: AlertSimulation,
  untilMs: number,
  observed: (nowMs: number) => ReturnType<typeof lost>[],
  stepMs = SECOND,
  fromMs = START,
): void {
  for (let now = fromMs; now <= untilMs; now += stepMs) alerts.run(observed(now), now);
}

describe("what is told together", () => {
  test("400 devices that are lost within two minutes are one message, and one when all are back", () => {
    const alerts = new AlertSimulation([], [someRoute()]);
    const gone = Array.from({ length: 400 }, (_, at) => lost(`GW-${at}`, START + at * 300));
    play(alerts, START + 60 * MINUTE, (now) => gone.filter(({ sinceMs = 0 }) => sinceMs <= now), 5 * SECOND);
    expect(alerts.messages).toMatchObject([{ message: "firing", total: 400, condition: "device_offline" }]);
    // The first of them has been gone for half an hour: nobody waits for the last.
    expect((alerts.messages[0]?.atMs ?? 0) - START).toBeLessThanOrEqual(30 * MINUTE + 5 * SECOND);
    alerts.run([], START + 61 * MINUTE);
    expect(alerts.messages.slice(1)).toMatchObject([{ message: "resolved", total: 400 }]);
    expect(alerts.groups.size).toBe(0);
  });

  test("one that is lost an hour later is another message", () => {
    const alerts = new AlertSimulation([], [someRoute()]);
    const gone = [lost("GW-1", START), lost("GW-2", START + 60 * MINUTE)];
    play(alerts, START + 100 * MINUTE, (now) => gone.filter(({ sinceMs = 0 }) => sinceMs <= now), 10 * SECOND);
    expect(alerts.messages.map(({ message, total }) => [message, total])).toEqual([
      ["firing", 1],
      ["firing", 1],
    ]);
  });

  test("what joins within two minutes is told after them, in one message", () => {
    const rules = parseRules([alertRuleSchema.parse({ condition: "deployment_failed", for_s: 0 })]);
    const alerts = new AlertSimulation(rules, [someRoute()]);
    const failed = Array.from({ length: 50 }, (_, at) => ({ at: START + at * SECOND, name: `GW-${at}` }));
    play(alerts, START + 10 * MINUTE, (now) =>
      failed.filter(({ at }) => at <= now).map(({ name }) => someObservation({ name, condition: "deployment_failed" })),
    );
    expect(alerts.messages.map(({ message, total }) => [message, total])).toEqual([
      ["firing", 3],
      ["update", 50],
    ]);
  });

  test("devices that are lost one after the other for a day do not flood the channel", () => {
    const alerts = new AlertSimulation([], [someRoute()]);
    const gone = Array.from({ length: 480 }, (_, at) => lost(`GW-${at}`, START + at * 3 * MINUTE));
    play(alerts, START + 25 * 60 * MINUTE, (now) => gone.filter(({ sinceMs = 0 }) => sinceMs <= now), MINUTE);
    expect(alerts.fired).toBe(480);
    const firsts = alerts.messages.filter(({ message }) => message === "firing");
    expect(firsts.length).toBeLessThanOrEqual(25 * MAX_GROUPS_PER_HOUR);
    expect(alerts.messages.at(-1)?.atMs).toBeGreaterThan(START + 24 * 60 * MINUTE);
  });
});

describe("what is told again, later, or not at all", () => {
  test("a message is repeated until somebody acknowledges it", () => {
    const alerts = new AlertSimulation([], [someRoute({ repeat_s: 3600 })]);
    const gone = [lost("GW-1", START - 60 * MINUTE)];
    play(alerts, START + 150 * MINUTE, () => gone, 30 * SECOND);
    expect(alerts.messages.map(({ message }) => message)).toEqual(["firing", "repeat", "repeat"]);
    alerts.acknowledge();
    play(alerts, START + 300 * MINUTE, () => gone, 30 * SECOND, START + 150 * MINUTE);
    expect(alerts.messages).toHaveLength(3);
    alerts.run([], START + 301 * MINUTE);
    expect(alerts.messages.at(-1)?.message).toBe("resolved");
  });

  test("a silence holds until its end, and what is still the matter is told then", () => {
    const alerts = new AlertSimulation([], [someRoute()]);
    alerts.silences = [
      { conditions: ["device_offline"], terms: [], assetUuid: undefined, endsAtMs: START + 10 * MINUTE },
    ];
    const gone = [lost("GW-1", START - 60 * MINUTE)];
    play(alerts, START + 9 * MINUTE, () => gone, 10 * SECOND);
    expect(alerts.messages).toEqual([]);
    play(alerts, START + 11 * MINUTE, () => gone, 10 * SECOND, START + 9 * MINUTE);
    expect(alerts.messages).toMatchObject([{ message: "firing" }]);
  });

  test("a silence of one device leaves those beside it, and what is no device", () => {
    const alerts = new AlertSimulation([], [someRoute()]);
    alerts.silences = [{ conditions: undefined, terms: [], assetUuid: "GW-1", endsAtMs: START + 60 * MINUTE }];
    const subject = { kind: "rollout", id: "GW-1", name: "kiosks revision 2" } as const;
    const rollout = someObservation({ condition: "rollout_stopped", subject });
    const gone = [lost("GW-1", START - 60 * MINUTE), full("GW-1"), lost("GW-2", START - 59 * MINUTE), rollout];
    play(alerts, START + 9 * MINUTE, () => gone, 10 * SECOND);
    expect(alerts.messages).toMatchObject([
      { condition: "device_offline", total: 1 },
      { condition: "rollout_stopped", total: 1 },
    ]);
    play(alerts, START + 61 * MINUTE, () => gone, 10 * SECOND, START + 9 * MINUTE);
    expect(alerts.messages.slice(2)).toMatchObject([
      { condition: "device_offline", message: "update", total: 2 },
      { condition: "deployment_failed", message: "firing", total: 1 },
    ]);
  });

  test("in quiet hours only what is critical is told; the rest waits, and is left out if it is over by then", () => {
    const quiet_hours = { from: "22:00", to: "07:00", time_zone: "Europe/Berlin", except_critical: true };
    const alerts = new AlertSimulation([], [someRoute({ quiet_hours })]);
    const night = Date.UTC(2026, 6, 1, 21);
    play(alerts, night + MINUTE, () => [lost("GW-1", START), full("GW-2"), full("GW-3")], 10 * SECOND, night);
    expect(alerts.messages.map(({ condition }) => condition)).toEqual(["device_offline"]);
    play(alerts, night + 10 * 60 * MINUTE, () => [full("GW-3")], MINUTE, night + 2 * MINUTE);
    expect(alerts.messages.slice(1).map(({ condition, message }) => [condition, message])).toEqual([
      ["device_offline", "resolved"],
      ["deployment_failed", "firing"],
    ]);
    // Seven o'clock in Berlin, in summer.
    expect(alerts.messages.at(-1)?.atMs).toBe(Date.UTC(2026, 6, 2, 5));
  });

  test("a route with a delay tells of what is still the matter, one with a selector of its assets", () => {
    const later = someRoute({ id: "boss", for_s: 7200 });
    const other = someRoute({ id: "lab", terms: [{ op: "exists", key: "lab" }] });
    const alerts = new AlertSimulation([], [later, other]);
    play(alerts, START + 3 * 60 * MINUTE, () => [lost("GW-1", START)], MINUTE);
    expect(alerts.messages.map(({ atMs }) => atMs - START)).toEqual([121 * MINUTE]);
  });

  test("whatever happens, a group first fires, ends once, and repeats no faster than it may", () => {
    const step = fc.record({
      gone: fc.subarray(["A", "B", "C", "D"]),
      minutes: fc.integer({ min: 1, max: 90 }),
      ack: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const alerts = new AlertSimulation([], [someRoute({ repeat_s: 900 })]);
        const since = new Map<string, number>();
        let now = START;
        for (const { gone, minutes, ack } of steps) {
          for (const name of ["A", "B", "C", "D"]) {
            if (!gone.includes(name)) since.delete(name);
            else if (!since.has(name)) since.set(name, now);
          }
          if (ack) alerts.acknowledge();
          for (const until = now + minutes * MINUTE; now < until; now += 30 * SECOND)
            alerts.run(
              gone.map((name) => lost(name, since.get(name) ?? now)),
              now,
            );
        }
        for (const [, messages] of Map.groupBy(alerts.messages, ({ groupId }) => groupId)) {
          expect(messages.findIndex(({ message }) => message === "firing")).toBe(0);
          expect(messages.filter(({ message }) => message === "firing")).toHaveLength(1);
          const end = messages.findIndex(({ message }) => message === "resolved");
          expect([-1, messages.length - 1]).toContain(end);
          for (const [at, { message, atMs }] of messages.entries())
            if (message === "repeat") expect(atMs - (messages[at - 1]?.atMs ?? 0)).toBeGreaterThanOrEqual(15 * MINUTE);
        }
      }),
      { numRuns: 60 },
    );
  });
});
