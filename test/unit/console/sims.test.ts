import { describe, expect, it, test } from "vitest";
import {
  barParts,
  forecastText,
  planState,
  readAllowance,
  toTyped,
  usedText,
} from "../../../src/console/pages/sims/allowance-words.ts";
import { spentPlanText } from "../../../src/console/pages/deploy/spent-plan.ts";
import { adviceFor } from "../../../src/console/pages/deployment/advice.ts";
import { readSimFilters } from "../../../src/console/pages/sims/sim-filters.ts";
import { operatorWord, pendingText } from "../../../src/console/pages/sims/sim-words.ts";

/** The example of docs/sim-plans.md: noon on 11 November. */
const EXAMPLE = { bytes: 1e9, used_bytes: 405e6, forecast_bytes: 1380e6, exceeded_at: 1_795_426_560 };

describe("the words of an allowance", () => {
  it("say how much is used, and when it will be used up", () => {
    expect(usedText(EXAMPLE)).toBe("405 MB of 1.0 GB used this month, 41\u00A0%");
    expect(forecastText(EXAMPLE)).toBe(
      "At the rate of the last seven days it will be 1.4 GB by the end of the month: used up on 23 Nov 2026, 09:36 UTC.",
    );
    const { exceeded_at: _, ...lasting } = { ...EXAMPLE, forecast_bytes: 9e8 };
    expect(forecastText(lasting)).toBe(
      "At the rate of the last seven days it will be 900 MB by the end of the month: it lasts.",
    );
    const spent = { ...EXAMPLE, used_bytes: 1005e6, exceeded_at: Date.UTC(2026, 10, 9) / 1000 };
    expect([usedText(spent), forecastText(spent)]).toEqual([
      "1.0 GB of 1.0 GB used this month, 100\u00A0%",
      "It was used up on 9 Nov 2026.",
    ]);
  });

  it.each([
    [0, 0, "ok", "0\u00A0%"],
    [1, 999, "ok", "1\u00A0%"],
    [1, 1000, "short", "1\u00A0%"],
    [999, 2000, "short", "99\u00A0%"],
    [1000, 1000, "spent", "100\u00A0%"],
    [2500, 3000, "spent", "250\u00A0%"],
  ])("with %d used and %d expected of 1000: %s", (used, forecast, state, percent) => {
    const allowance = { bytes: 1000, used_bytes: used, forecast_bytes: forecast };
    expect(planState(allowance)).toBe(state);
    expect(usedText(allowance)).toContain(percent);
  });

  it("fit the bar, whatever is the largest", () => {
    expect(barParts({ bytes: 100, used_bytes: 25, forecast_bytes: 50 })).toEqual({
      used: 25,
      expected: 25,
      limit: 100,
    });
    expect(barParts({ bytes: 100, used_bytes: 50, forecast_bytes: 200 })).toEqual({
      used: 25,
      expected: 75,
      limit: 50,
    });
    expect(barParts({ bytes: 100, used_bytes: 200, forecast_bytes: 200 })).toEqual({
      used: 100,
      expected: 0,
      limit: 50,
    });
  });
});

describe("an allowance that is typed", () => {
  it.each([
    ["500", "MB", 500e6],
    [" 1,5 ", "GB", 1.5e9],
    ["0.000001", "MB", 1],
    ["0", "MB", undefined],
    ["-1", "MB", undefined],
    ["1e3", "MB", undefined],
    ["", "GB", undefined],
    ["99999999999", "GB", undefined],
  ] as const)("%j %s is %s bytes", (text, unit, bytes) => {
    expect(readAllowance(text, unit)).toBe(bytes);
  });

  test.each([1, 1_000_000, 999_999_999, 1_500_000_000, 10_000_000_001])(
    "is shown as %d can be typed again",
    (bytes) => {
      const { text, unit } = toTyped(bytes);
      expect(readAllowance(text, unit)).toBe(bytes);
    },
  );
});

describe("the state of a SIM in words", () => {
  it("has the operator's word where it is another one", () => {
    expect(operatorWord({ status: "active", operator_status: "ready" })).toBe("ready");
    expect(operatorWord({ status: "active", operator_status: "Activated" })).toBeUndefined();
    expect(operatorWord({ status: "active", operator_status: "Suspended" })).toBe("Suspended");
    expect(operatorWord({ status: "inactive" })).toBeUndefined();
  });

  it("says what is pending", () => {
    expect(pendingText({ status: "inactive", since: 0 })).toBe("set it to inactive");
    expect(pendingText({ since: 0 })).toBe("");
    expect(pendingText({ network_group: "default_10gb", since: 0 })).toBe("move it to default_10gb");
    expect(pendingText({ status: "active", network_group: "g", since: 0 })).toBe("set it to active and move it to g");
  });
});

test.each([
  ["", {}],
  ["type=prosim", { type: "prosim" }],
  ["type=esim&attention=any", {}],
  ["attention=data&type=supersim&limit=5", { type: "supersim", attention: "data" }],
])("the filters of ?%s are %j", (text, filters) => {
  expect(readSimFilters(new URLSearchParams(text))).toEqual(filters);
});

describe("a deployment that a used-up allowance concerns", () => {
  const plan = { type: "supersim", until: Date.UTC(2026, 11, 1) / 1000 } as const;

  it.each([
    ["wait", false, "It would wait until 1 Dec 2026, 00:00 UTC"],
    ["urgent", false, "It would be refused until 1 Dec 2026, 00:00 UTC"],
    ["wait", true, "It is carried out all the same"],
    ["urgent", true, "It is carried out all the same"],
  ] as const)("with the setting %s, urgent %s", (effect, isUrgent, text) => {
    const words = spentPlanText({ ...plan, effect }, isUrgent);
    expect(words.title).toBe("The monthly allowance of the Super SIM is used up.");
    expect(words.text).toContain(text);
    expect(words.text.includes("mark it as urgent")).toBe(!isUrgent);
  });

  it("is told what to do when it was refused, which is not what the device's own budget asks for", () => {
    const details = { limit_bytes: 1000, limit: "monthly_budget", sim_type: "supersim", waiting_until: plan.until };
    const { facts, next } = adviceFor("DataBudgetExceeded", details, "from the table");
    expect(next).toContain("larger allowance");
    expect(facts).toEqual(["Limit bytes: 1000", "Limit: monthly_budget"]);
    expect(adviceFor("DataBudgetExceeded", { limit_bytes: 1000 }).next).toContain("budget period");
  });
});
