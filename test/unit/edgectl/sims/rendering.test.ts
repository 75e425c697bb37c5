import { describe, expect, test } from "vitest";
import { compareUsage } from "../../../../src/edgectl/sims/compare-usage.ts";
import type { AssetSimDetails, SimDetails } from "../../../../src/edgectl/sims/read-sims.ts";
import { differencesOf } from "../../../../src/edgectl/sims/refresh.ts";
import {
  renderAllowance,
  renderRefreshed,
  renderSimDetails,
  renderSims,
} from "../../../../src/edgectl/views/sim-view.ts";
import { ageText, pendingText, percent } from "../../../../src/edgectl/sims/sim-words.ts";
import { createTheme } from "../../../../src/lib/terminal/theme.ts";
import { MemoryOutput } from "../../../support/edgectl/memory-output.ts";
import { NOW, someDataUsage, someDay, someSim } from "../../../support/edgectl/sim-samples.ts";

const plain = createTheme(new MemoryOutput(), { LANG: "en_GB.UTF-8" });
const HOSTILE = "a\u001B[2J\u202Eb\nc";
const CONTROL = /[^\P{Cc}\n]|\p{Bidi_Control}/u;
const MB = 1_000_000;
const PENDING = { status: "inactive", since: NOW - 720 };

const allowanceOf = (used: number, forecast: number) => ({
  bytes: 1000 * MB,
  source: "operator",
  used_bytes: used * MB,
  forecast_bytes: forecast * MB,
});

const usageOf = (total: number, asOf?: number) => ({
  start_time: Date.UTC(2026, 10, 1) / 1000,
  end_time: NOW,
  finalized_until: Date.UTC(2026, 10, 21) / 1000,
  usages: [{ total: total * MB, network_group: "default_1gb" }],
  ...(asOf !== undefined && { as_of: asOf }),
});

const details = (fields: Partial<SimDetails> = {}): SimDetails => ({
  sim: someSim(),
  usage: { value: usageOf(405, NOW - 3 * 3600) },
  allowance: {
    value: {
      bytes: 1000 * MB,
      source: "operator",
      used_bytes: 405 * MB,
      forecast_bytes: 1380 * MB,
      exceeded_at: NOW + 86_400,
    },
  },
  ...fields,
});

const compared = (...given: Parameters<typeof someDataUsage>): AssetSimDetails["comparison"] => {
  const value = compareUsage(someDataUsage(...given));
  return value ? { value } : { missing: { code: "NotReported", message: "The device has not reported yet." } };
};

const show = (sims: readonly SimDetails[], comparison: AssetSimDetails["comparison"]) =>
  renderSimDetails({ sims, comparison }, NOW, plain, undefined);

const FIRST = "2026-11-01";

const renderRefresh = (before: Parameters<typeof someSim>[0], after: Parameters<typeof someSim>[0], asked = true) => {
  const sim = someSim(after);
  return renderRefreshed([{ sim, differences: differencesOf(someSim(before), sim), asked }], NOW, plain).split("\n");
};

describe("words", () => {
  test.each([
    [10, "just now"],
    [-5, "just now"],
    [119, "1 min ago"],
    [3 * 3600 + 1800, "3 h ago"],
    [47 * 3600, "47 h ago"],
    [5 * 86_400, "5 days ago"],
  ])("an age of %d s is %s", (age, text) => expect(ageText(NOW - age, NOW)).toBe(text));

  test("a pending change says what from and what to, as far as it is known", () => {
    const asked = "asked 2026-11-23 11:48 UTC (12 min ago); the operator has not confirmed";
    expect(pendingText(PENDING, NOW, someSim())).toBe(`active -> inactive, ${asked}`);
    expect(pendingText(PENDING, NOW)).toBe(`to inactive, ${asked}`);
    const both = { ...PENDING, network_group: "default_10gb" };
    expect(pendingText(both, NOW, someSim())).toBe(
      `active -> inactive, network group default_1gb -> default_10gb, ${asked}`,
    );
    expect(pendingText({ since: NOW }, NOW)).toBe(
      "a change by other means, noticed 2026-11-23 12:00 UTC (just now); the operator has not confirmed",
    );
  });

  test("what is not used up is never 100 %", () => {
    expect([percent(999, 1000), percent(1000, 1000), percent(0, 5)]).toEqual(["99 %", "100 %", "0 %"]);
  });
});

describe("the table of SIMs", () => {
  test("has state, the operator's words where they differ, what is pending, and how far an allowance reaches", () => {
    const sims = [
      someSim({ allowance: allowanceOf(405, 1380), pending: PENDING }),
      someSim({ operator_status: "ready", allowance: allowanceOf(5, 50) }),
      someSim({ lost: true, allowance: allowanceOf(1000, 1000) }),
      someSim({ type: "prosim", checked_at: null, allowance: { bytes: 500 * MB, source: "manual" } }),
    ];
    expect(
      renderSims(sims, NOW, plain, undefined)
        .split("\n")
        .map((line) => line.replaceAll(/ {2,}/g, " | ")),
    ).toEqual([
      "ASSET | TYPE | ICCID | STATE | PENDING | USED THIS MONTH | FORECAST | CHECKED",
      "GW-1 | supersim | 8988307000001234567 | active | active -> inactive, asked 12 min ago | 405.0 MB of 1.00 GB (40 %) | runs out (1.38 GB) | 1 min ago",
      "GW-1 | supersim | 8988307000001234567 | active (operator: ready) | - | 5.00 MB of 1.00 GB (0 %) | enough (50.0 MB) | 1 min ago",
      "GW-1 | supersim | 8988307000001234567 | active (lost) | - | 1.00 GB of 1.00 GB (100 %) | used up | 1 min ago",
      "GW-1 | prosim | 8988307000001234567 | active | - | ? of 500.0 MB | - | never",
    ]);
    expect(renderSims([], NOW, plain, 80)).toBe("No SIMs.");
  });
});

describe("one asset's SIMs", () => {
  test("are shown with allowance, forecast, age of the figures, and the comparison with the agent", () => {
    const ledger = someDay(FIRST, {
      pulls: 100 * MB,
      control: 2 * MB,
      overhead: 3 * MB,
      interfaces: { wwan0: 400 * MB },
    });
    const text = show(
      [details({ sim: someSim({ pending: PENDING }) })],
      compared([ledger], [{ days: { [FIRST]: 405 * MB } }]),
    );
    expect(text).toMatchInlineSnapshot(`
      "Super SIM
      Asset            GW-1, Pump house 7
      ICCID            8988307000001234567
      State            active
      Network group    default_1gb
      Pending          active -> inactive, asked 2026-11-23 11:48 UTC (12 min ago); the operator has not confirmed
      Checked          2026-11-23 11:58 UTC (1 min ago)
      Used this month  405.0 MB, as the operator said 2026-11-23 09:00 UTC (3 h ago)
                       final up to 2026-11-21 00:00 UTC
      Allowance        405.0 MB of 1.00 GB (40 %) used this month
        Source         the limit of its fleet at the operator
        Forecast       1.38 GB by the end of the month (138 %), used up about 2026-11-24 12:00 UTC

      Operator and agent, this month
      2026-11-01 to 2026-11-23 (UTC), all SIMs of the asset

                    BYTES
      Operator   405.0 MB  what is billed: all traffic over the SIMs
      - Agent    102.0 MB  pulls 100.0 MB, control 2.00 MB
      - Headers   3.00 MB  estimate of TCP and IP of the agent's own traffic
      - Rest     300.0 MB  apps, the system, and what the operator rounds up
      Device     400.0 MB  the kernel's count: wwan0 400.0 MB"
    `);
  });

  test("that are lost, with parts that are not known, say why", () => {
    const lost = details({
      sim: someSim({ lost: true }),
      usage: { missing: { code: "SimOperatorFailed", message: "The SIM operator did not answer." } },
      allowance: { missing: { code: "AllowanceNotFound", message: "none" } },
    });
    const text = show([lost], compared([], [], null));
    expect(text).toContain("active (lost)");
    expect(text).toContain("The operator did not know it then; its last state stays.");
    expect(text).toContain("Used this month  not known: The SIM operator did not answer.");
    expect(text).toContain("Allowance        none: the operator says none, and none is set");
    expect(text).toContain("Not compared: The device has not reported yet.");
  });

  test.each([
    [
      "one network",
      { wwan0: 1 },
      "2026-11-02",
      "Warning: the agent counted 40.0 MB more than the operator, on days that are final. Check that the device has this SIM and no " +
        "other network.",
    ],
    [
      "several networks",
      { wwan0: 1, eth0: 1 },
      FIRST,
      "Warning: the agent counted 40.0 MB more than the operator. Operators count late: this may be usage that is still to come. The " +
        "device has more than one network: the agent's traffic may have gone over another than the SIM.",
    ],
  ])("warn where the agent counted more, on a device with %s", (_what, interfaces, finalUntil, warning) => {
    const ledger = someDay(FIRST, { pulls: 100 * MB, interfaces });
    expect(show([details()], compared([ledger], [{ finalUntil, days: { [FIRST]: 60 * MB } }]))).toContain(warning);
  });

  test("without any known usage are not compared: the agent's count would always be more", () => {
    const stored = details({ sim: someSim({ checked_at: null }), usage: { value: { ...usageOf(0), usages: [] } } });
    const text = show([stored], compared([someDay(FIRST, { pulls: MB })], [{ days: {} }]));
    expect(text).toContain("No usage of its SIMs is known: no operator was asked, and none was imported.");
    expect(text).toContain("The agent counted 1.00 MB of its own.");
    expect(text).not.toContain("Warning");
  });

  test("say how old the device's count is", () => {
    const text = show([details()], compared([someDay(FIRST, {})], [{ days: { [FIRST]: 1 } }], NOW - 7200));
    expect(text).toContain("What the device counted is as it said 2026-11-23 10:00 UTC (2 h ago).");
  });

  test("contain nothing of operators or devices that a terminal acts on", () => {
    const sim = someSim({
      serial_number: HOSTILE,
      asset_name: HOSTILE,
      iccid: HOSTILE,
      status: HOSTILE,
      operator_status: HOSTILE,
      network_group: HOSTILE,
      pending: { status: HOSTILE, network_group: HOSTILE, since: NOW },
    });
    const missing = { missing: { code: "SimOperatorFailed", message: HOSTILE } };
    const hostile = details({ sim, usage: missing, allowance: missing });
    const ledger = someDay(FIRST, { interfaces: { [HOSTILE]: 5 } });
    for (const comparison of [missing, compared([ledger], [{ days: { [FIRST]: 1 } }])]) {
      const text = show([hostile], comparison);
      expect(text).not.toMatch(CONTROL);
    }
    expect(renderSims([sim], NOW, plain, 80)).not.toMatch(CONTROL);
    const differences = differencesOf(someSim(), sim);
    expect(renderRefreshed([{ sim, differences, asked: true }], NOW, plain)).not.toMatch(CONTROL);
  });
});

describe("an allowance", () => {
  const value = { bytes: 500 * MB, source: "manual", used_bytes: 713 * MB, forecast_bytes: 900 * MB };

  test("that is used up says since when, and where its figure comes from", () => {
    const exceeded_at = Date.UTC(2026, 10, 17) / 1000;
    expect(renderAllowance({ ...value, exceeded_at, as_of: NOW }, "supersim", NOW, plain).split("\n")).toEqual([
      "Allowance   713.0 MB of 500.0 MB (142 %) used this month",
      "  Source    set by hand",
      "  Forecast  used up since 2026-11-17",
      "  As of     2026-11-23 12:00 UTC (just now)",
    ]);
  });

  test("that reaches to the end of the month says how far", () => {
    const text = renderAllowance({ ...value, bytes: 1000 * MB, source: "operator" }, "supersim", NOW, plain);
    expect(text).toContain("Forecast  900.0 MB by the end of the month (90 %)");
    expect(text).toContain("the limit of its fleet at the operator");
  });
});

describe("a refresh", () => {
  test("says what is different, field by field", () => {
    expect(
      renderRefresh({}, { status: "inactive", operator_status: "inactive", network_group: "default_10gb" }),
    ).toEqual([
      "Super SIM: inactive. The operator was asked now.",
      "  Status: active -> inactive",
      "  In the operator's words: active -> inactive",
      "  Network group: default_1gb -> default_10gb",
    ]);
  });

  test("says that nothing is, and how old the answer is", () => {
    expect(renderRefresh({}, {}, false)).toEqual([
      "Super SIM: active. This is the operator's last answer: 2026-11-23 11:58 UTC (1 min ago).",
      "  Nothing is different.",
    ]);
    expect(renderRefresh({ checked_at: null }, { checked_at: null }, false)[0]).toBe(
      "Super SIM: active. No operator serves it: this is what is stored.",
    );
  });

  test("says what settled, what is still pending, and that a SIM is lost or found", () => {
    expect(renderRefresh({ pending: PENDING }, { status: "inactive" })).toContain("  Settled: to inactive");
    expect(renderRefresh({ pending: PENDING }, { pending: PENDING })[1]).toMatch(
      /^ {2}Pending: active -> inactive, asked /,
    );
    expect(renderRefresh({}, { lost: true })).toContain(
      "  The operator does not know it any more. Its last state stays.",
    );
    expect(renderRefresh({ lost: true }, {})).toContain("  The operator knows it again.");
  });
});
