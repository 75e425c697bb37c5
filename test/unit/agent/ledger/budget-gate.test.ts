import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { DataPolicy } from "../../../../src/agent/core/traffic/data-budget.ts";
import { parseTimeWindow } from "../../../../src/agent/core/traffic/time-window.ts";
import { BudgetGate } from "../../../../src/agent/ledger/budget-gate.ts";
import { DataUsageReader } from "../../../../src/agent/ledger/data-usage-reader.ts";
import { TrafficLedger } from "../../../../src/agent/ledger/traffic-ledger.ts";
import { NetworkWatch } from "../../../../src/agent/ledger/network-watch.ts";
import { dataUsed } from "../../../../src/agent/local/local-routes.ts";
import { openSqliteStore } from "../../../../src/agent/store/sqlite-store.ts";
import type { AgentStore } from "../../../../src/agent/store/store.ts";
import { deviceDataUsageSchema } from "../../../../src/protocol/link/data-usage.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import type { EventContent } from "../../../../src/protocol/deployments/deployment-event.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeNetwork } from "../../../support/fake-network.ts";
import { captureLog } from "../../../support/link/log-capture.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const HOUR = 3_600_000;
const WWAN = { interface: "wwan0", gateway: "" };

const policy = (more: Partial<DataPolicy>): DataPolicy => ({
  metered: ["modem"],
  dailyBytes: undefined,
  monthlyBytes: undefined,
  bytesPerSecond: undefined,
  hours: [],
  timeZone: "UTC",
  ...more,
});

describe("the budget gate", () => {
  let clock: FakeClock;
  let network: FakeNetwork;
  let store: AgentStore;
  let ledger: TrafficLedger;
  let watch: NetworkWatch;
  let events: EventContent[];
  let stop: AbortController;

  const gate = (more: Partial<DataPolicy>): BudgetGate =>
    new BudgetGate({ policy: policy(more), ledger, watch, clock });
  /** Requests an admission, and records whether it was admitted. */
  const ask = (at: BudgetGate, bytes = 1_000, urgent = false) => {
    const asked = { isIn: false, error: undefined as unknown };
    at.admit({ bytes, isUrgent: urgent, emit: (event) => events.push(event), signal: stop.signal }).then(
      () => (asked.isIn = true),
      (error: unknown) => (asked.error = error),
    );
    return asked;
  };
  const night = [parseTimeWindow("22:00-05:00")].flatMap((hours) => hours ?? []);

  beforeEach(() => {
    clock = new FakeClock(NOON);
    network = new FakeNetwork();
    network.defaultRoute = WWAN;
    store = openSqliteStore({ path: ":memory:", clock, bootId: "b" });
    watch = new NetworkWatch(network, clock);
    ledger = new TrafficLedger({
      store: store.ledger,
      network,
      watch,
      clock,
      logger: captureLog().logger,
      bootId: "b",
    });
    events = [];
    stop = new AbortController();
  });
  afterEach(() => {
    stop.abort();
    ledger[Symbol.dispose]();
    store[Symbol.dispose]();
  });

  it("delays a download until the allowed hours, and reports until when", async () => {
    const asked = ask(gate({ hours: night }));
    await clock.advance(10 * HOUR - 1);
    expect(asked.isIn).toBe(false);
    expect(events).toEqual([
      {
        status: "Running",
        step: "pulling",
        message: expect.stringMatching(/^Waiting until 2026-11-21 22:00 UTC with the download: .*certain hours/),
        details: { waiting_for: "hours", waiting_until: (NOON + 10 * HOUR) / 1000, waiting_s: 36_000 },
      },
    ]);
    await clock.advance(1);
    expect(asked.isIn).toBe(true);
  });

  it("admits an urgent download at once", async () => {
    const asked = ask(gate({ hours: night, dailyBytes: 1 }), 1_000, true);
    await clock.advance(0);
    expect([asked.isIn, events.length]).toEqual([true, 0]);
  });

  it("admits a download within a minute after a change to an unmetered network", async () => {
    const asked = ask(gate({ hours: night }));
    await clock.advance(HOUR);
    network.defaultRoute = { interface: "eth0", gateway: "0102A8C0" };
    await clock.advance(60_000);
    expect(asked.isIn).toBe(true);
  });

  it("applies the budget to traffic over metered networks only", async () => {
    network.defaultRoute = { interface: "eth0", gateway: "0102A8C0" };
    ledger.count({ purpose: "pulls", direction: "received", bytes: 1_000_000 });
    network.defaultRoute = WWAN;
    await clock.advance(20_000);
    const strict = gate({ dailyBytes: 10_000 });
    const first = ask(strict, 9_000);
    await clock.advance(0);
    expect(first.isIn).toBe(true);
    ledger.count({ purpose: "pulls", direction: "received", bytes: 9_000 });
    const second = ask(strict, 9_000);
    await clock.advance(12 * HOUR - 60_000);
    expect([second.isIn, events[0]?.details?.["waiting_for"]]).toEqual([false, "daily_budget"]);
    await clock.advance(60_000);
    expect(second.isIn).toBe(true);
  });

  it("rejects a download larger than the whole budget, with the numbers", async () => {
    const asked = ask(gate({ monthlyBytes: 500 }));
    await clock.advance(0);
    expect(asked.error).toMatchObject({
      code: "DataBudgetExceeded",
      details: { download_bytes: 1_000, limit_bytes: 500, limit: "monthly_budget" },
    });
  });

  it("waits a whole month for the next budget by the system clock", async () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 11, 1, 12) });
    onTestFinished(() => void vi.useRealTimers());
    const parts = { store: store.ledger, network, watch: new NetworkWatch(network, systemClock), clock: systemClock };
    using book = new TrafficLedger({ ...parts, logger: captureLog().logger, bootId: "b" });
    book.count({ purpose: "pulls", direction: "received", bytes: 10_000 });
    const own = { policy: policy({ monthlyBytes: 10_000 }), ledger: book, watch: parts.watch, clock: systemClock };
    const asked = ask(new BudgetGate(own));
    await vi.advanceTimersByTimeAsync(0);
    expect(events).toMatchObject([{ details: { waiting_for: "monthly_budget", waiting_s: 30.5 * 24 * 3600 } }]);
    // Longer than the maximum delay of a timer.
    await vi.advanceTimersByTimeAsync(30.5 * 24 * HOUR - 60_000);
    expect([asked.isIn, events.length]).toEqual([false, 1]);
    await vi.advanceTimersByTimeAsync(120_000);
    expect(asked.isIn).toBe(true);
  });

  it("stops waiting when the deployment is aborted", async () => {
    const asked = ask(gate({ hours: night }));
    await clock.advance(1_000);
    stop.abort(new Error("cancelled"));
    await clock.advance(0);
    expect(asked.error).toMatchObject({ message: "cancelled" });
  });

  it("limits the rate on metered networks only", async () => {
    const slow = gate({ bytesPerSecond: 50_000 });
    expect(slow.rate()).toBe(50_000);
    network.defaultRoute = { interface: "eth0", gateway: "0102A8C0" };
    await clock.advance(10_000);
    expect(slow.rate()).toBeUndefined();
  });

  it("reports data usage in the protocol's form, with the budgets", () => {
    ledger.count({ purpose: "pulls", direction: "received", bytes: 9_000, app: "web", deployment: "d1" });
    ledger.count({ purpose: "control", direction: "sent", bytes: 100, messages: 1 });
    const report = new DataUsageReader(ledger, policy({ monthlyBytes: 20_000 }));
    const usage = report.between({ from: "2026-11-01", to: "2026-11-30" });
    expect(deviceDataUsageSchema.parse(usage)).toMatchObject({
      days: [
        {
          day: "2026-11-21",
          by_purpose: {
            pulls: { sent_bytes: 0, received_bytes: 9_000 },
            control: { sent_bytes: 100, received_bytes: 0 },
          },
          by_app: { web: 9_000 },
        },
      ],
      deployments: [{ deployment_id: "d1", app: "web", day: "2026-11-21", received_bytes: 9_000 }],
      budget: { monthly_bytes: 20_000, daily_bytes: null },
    });
    const used = dataUsed(report);
    expect(used?.by_purpose).toEqual({ pulls: 9_000, control: 100 });
    expect(used?.today_bytes).toBe(usage.budget?.used_today_bytes);
    expect(used?.overhead_bytes).toBeGreaterThan(0);
    const parts = [...Object.values(used?.by_purpose ?? {}), used?.overhead_bytes ?? 0];
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(used?.month_bytes);
  });
});
