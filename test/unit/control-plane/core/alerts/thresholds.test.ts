import { describe, expect, test } from "vitest";
import { parseRules } from "../../../../../src/control-plane/core/alerts/evaluate.ts";
import { isAboutLevels, thresholdsFor } from "../../../../../src/control-plane/core/alerts/thresholds.ts";
import { ALERT_CONDITIONS, HEALTH_CONDITIONS, MAX_LEVELS_S } from "../../../../../src/protocol/alerts/condition.ts";
import { DEFAULT_THRESHOLDS } from "../../../../../src/protocol/alerts/default-thresholds.ts";
import { type AlertRule, MAX_ALERT_RULES } from "../../../../../src/protocol/alerts/settings.ts";
import { healthThresholdsSchema, MAX_THRESHOLD_S } from "../../../../../src/protocol/link/health-thresholds.ts";

const oven = {
  kind: "asset",
  id: "u-1",
  name: "GW-1",
  type: "gateway",
  tags: new Map([["site", "oven"]]),
} as const;
const pump = { ...oven, tags: new Map() };

const rule = (fields: Partial<AlertRule>): AlertRule => ({
  condition: "temperature_high",
  selector: "*",
  ...fields,
});

describe("what a device tells at once", () => {
  test("is what alerts are about by default, without those that are off", () => {
    expect(DEFAULT_THRESHOLDS).toMatchObject({
      temperature_celsius: [[80, 900]],
      memory_percent: [[95, 1800]],
      disk_percent: [],
      cpu_percent: [],
      signal_percent: [],
      throttled_percent: [[50, 1800]],
      below: { signal_percent: [], temperature_celsius: [] },
    });
    expect(thresholdsFor([], oven)).toBeUndefined();
  });

  test("follows the first rule that takes its asset, where that differs", () => {
    const rules = parseRules([
      rule({ selector: "site=oven", above: 95, for_s: 1_800 }),
      rule({ above: 70 }),
      rule({ condition: "disk_high", selector: "site=oven", enabled: true }),
      rule({ condition: "memory_high", enabled: false }),
      rule({ condition: "inodes_high", above: 90, severity: "info" }),
      rule({ condition: "device_offline", for_s: 1 }),
      rule({ condition: "signal_low", selector: "site=oven", enabled: true, below: 30 }),
    ]);
    expect(thresholdsFor(rules, oven)).toEqual({
      temperature_celsius: [[95, 1800]],
      disk_percent: [[90, 900]],
      memory_percent: [],
      below: { signal_percent: [[30, 1800]] },
    });
    expect(thresholdsFor(rules, pump)).toEqual({ temperature_celsius: [[70, 900]], memory_percent: [] });
    expect(rules.filter(isAboutLevels)).toHaveLength(6);
  });

  test("is a few bytes, whatever the rules are, and all of it reaches the device", () => {
    const longest = HEALTH_CONDITIONS.map((condition) => {
      const { side } = ALERT_CONDITIONS[condition].level;
      return rule({ condition, [side]: side === "above" ? 1_000 : -200, for_s: MAX_LEVELS_S, enabled: true });
    });
    const others = Array.from({ length: MAX_ALERT_RULES - longest.length }, (_, at) => rule({ above: 100 + at }));
    const thresholds = thresholdsFor(parseRules([...longest, ...others]), oven);
    expect(JSON.stringify(thresholds).length).toBeLessThanOrEqual(400);
    expect(healthThresholdsSchema.parse(thresholds)).toEqual(thresholds);
    expect(MAX_LEVELS_S).toBeLessThanOrEqual(MAX_THRESHOLD_S);
  });
});
