import { describe, expect, it } from "vitest";
import { renderTimings } from "../../../src/lib/terminal/timings-table.ts";
import { createTheme } from "../../../src/lib/terminal/theme.ts";

const view = { theme: createTheme({ write: () => true }, {}), width: 80 };

const steps = [
  { step: "checking", ms: 12.3, engine_ms: 8 },
  { step: "rolling_back", ms: 100, engine_ms: 95 },
];

describe("the table of a deployment's times", () => {
  it("shows each step with the engine's part, the time between, and the sum", () => {
    expect(renderTimings({ details: { timings: { total_ms: 120, steps } } }, view).split("\n")).toEqual([
      "STEP              TOTAL    ENGINE  SHARE",
      "checking        12.3 ms    8.0 ms   65 %",
      "rolling back   100.0 ms   95.0 ms   95 %",
      "between steps    7.7 ms         -      -",
      "all            120.0 ms  103.0 ms   86 %",
    ]);
  });

  it("says what is not known after a restart of the agent", () => {
    const text = renderTimings({ details: { timings: { total_ms: 120, steps, since_restart: true } } }, view);
    expect(text.split("\n").at(-1)).toBe("The agent was restarted in the middle: times from before are not known.");
  });

  it.each([
    ["absent", {}],
    ["not what they should be", { details: { timings: { total_ms: "1", steps } } }],
    ["too many", { details: { timings: { total_ms: 1, steps: Array.from({ length: 33 }, () => steps[0]) } } }],
  ])("says so if the times are %s", (_what, event) => {
    expect(renderTimings(event, view)).toBe("Times: the device reported none.");
  });

  it("prints no control character of a device", () => {
    const evil = [{ step: "\u001b[31mred", ms: 1, engine_ms: 0 }];
    expect(renderTimings({ details: { timings: { total_ms: 1, steps: evil } } }, view)).not.toContain("\u001b");
  });
});
