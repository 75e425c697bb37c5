import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TrafficLedger } from "../../../../src/agent/ledger/traffic-ledger.ts";
import { NetworkWatch } from "../../../../src/agent/ledger/network-watch.ts";
import type { TrafficPurpose } from "../../../../src/protocol/link/data-usage.ts";
import type { LedgerStore } from "../../../../src/agent/core/traffic/ledger-store.ts";
import { openSqliteStore } from "../../../../src/agent/store/sqlite-store.ts";
import type { AgentStore } from "../../../../src/agent/store/store.ts";
import { SteadyClock } from "../../../../src/lib/steady-clock.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { FakeNetwork } from "../../../support/fake-network.ts";
import { captureLog } from "../../../support/link/log-capture.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe("the traffic ledger", () => {
  let clock: FakeClock;
  let network: FakeNetwork;
  let store: AgentStore;
  let book: TrafficLedger;

  const open = (bootId = "boot-1"): TrafficLedger =>
    new TrafficLedger({
      store: store.ledger,
      network,
      watch: new NetworkWatch(network, clock),
      clock,
      logger: captureLog().logger,
      bootId,
    });
  const reopen = (bootId?: string): void => {
    book[Symbol.dispose]();
    book = open(bootId);
  };
  const carry = (sent: number, received: number): void => {
    network.interfaceCounters = [{ name: "wwan0", sent, received }];
  };
  const stored = (): number =>
    store.ledger.traffic("0000", "9999").reduce((sum, { sent, received }) => sum + sent + received, 0);

  beforeEach(() => {
    clock = new FakeClock(Date.UTC(2026, 10, 21, 12));
    network = new FakeNetwork();
    store = openSqliteStore({ path: ":memory:", clock, bootId: "boot-1" });
    book = open();
  });
  afterEach(() => {
    book[Symbol.dispose]();
    expect(clock.pending).toBe(0);
    store[Symbol.dispose]();
  });

  it("sums by day, purpose, app and deployment, across restarts", async () => {
    book.count({ purpose: "pulls", direction: "received", bytes: 1_000, app: "web", deployment: "d1" });
    book.count({ purpose: "pulls", direction: "received", bytes: 500, app: "web", deployment: "d1" });
    book.count({ purpose: "logs", direction: "sent", bytes: 70, app: "web" });
    reopen();
    book.count({ purpose: "pulls", direction: "sent", bytes: 10, app: "web", deployment: "d1" });
    await clock.advance(DAY);
    book.count({ purpose: "pulls", direction: "received", bytes: 5, app: "web", deployment: "d1" });
    const { traffic } = book.read("2026-11-21", "2026-11-22");
    const sums = new Map<string, number>();
    for (const { day, purpose, app, deployment, sent, received } of traffic) {
      const key = `${day} ${purpose} ${app} ${deployment}`;
      sums.set(key, (sums.get(key) ?? 0) + sent * 1e6 + received);
    }
    expect(Object.fromEntries(sums)).toEqual({
      "2026-11-21 logs web ": 70e6,
      "2026-11-21 pulls web d1": 10e6 + 1_500,
      "2026-11-22 pulls web d1": 5,
    });
    expect(book.read("2026-11-22", "2026-11-22").traffic).toHaveLength(1);
  });

  it("writes a second after two mebibytes of a download, so that a power cut loses little", async () => {
    const chunk = { purpose: "pulls", direction: "received", bytes: 65_536, app: "web", deployment: "d1" } as const;
    let counted = 0;
    for (let count = 0; count < 600; count++) {
      book.count(chunk);
      counted += chunk.bytes;
      // 0.5 MiB a second
      await clock.advance(125);
      expect(counted - stored()).toBeLessThan(2.6 * 1_048_576);
    }
  });

  it("writes no more often than once a second, however fast a download is", async () => {
    let writes = 0;
    const counting: LedgerStore = {
      ...emptyStore(),
      add: () => {
        writes++;
      },
    };
    const { logger } = captureLog();
    using other = new TrafficLedger({
      store: counting,
      network,
      watch: new NetworkWatch(network, clock),
      clock,
      logger,
      bootId: "b",
    });
    for (let tenth = 0; tenth < 30; tenth++) {
      other.count({ purpose: "pulls", direction: "received", bytes: 10_000_000 });
      await clock.advance(100);
    }
    expect(writes).toBeLessThanOrEqual(3);
    expect(writes).toBeGreaterThanOrEqual(2);
  });

  it("writes small amounts once an hour, and large ones after five minutes", async () => {
    book.count({ purpose: "control", direction: "sent", bytes: 100 });
    await clock.advance(HOUR - 1);
    expect(stored()).toBe(0);
    await clock.advance(1);
    expect(stored()).toBe(100);
    book.count({ purpose: "pulls", direction: "received", bytes: 2_000_000 });
    await clock.advance(5 * 60_000);
    expect(stored()).toBe(2_000_100);
  });

  it("counts a connection from its first byte to its last, with its messages and its setup", async () => {
    const wire = { sent: 0, received: 0, messages: 0 };
    const following = book.follow(() => ({ ...wire }));
    Object.assign(wire, { sent: 1_700, received: 3_500, messages: 2 });
    await clock.advance(HOUR);
    Object.assign(wire, { sent: 1_730, received: 3_530, messages: 4 });
    following[Symbol.dispose]();
    Object.assign(wire, { sent: 9_999 });
    const { traffic } = book.read("2026-11-21", "2026-11-21");
    const total = traffic.reduce((sum, { sent, received }) => sum + sent + received, 0);
    expect(total).toBe(1_730 + 3_530);
    const overhead = traffic.reduce((sum, entry) => sum + entry.overhead, 0);
    expect(overhead).toBeGreaterThan(4 * 104);
    expect(overhead).toBeLessThan(4 * 104 + 1_000);
  });

  it("distinguishes the kinds of network", async () => {
    book.count({ purpose: "control", direction: "sent", bytes: 1 });
    network.defaultRoute = { interface: "wwan0", gateway: "" };
    await clock.advance(60_000);
    book.count({ purpose: "control", direction: "sent", bytes: 2 });
    const { traffic } = book.read("2026-11-21", "2026-11-21");
    expect(traffic.map(({ network: kind, sent }) => [kind, sent])).toEqual([
      ["ethernet", 1],
      ["modem", 2],
    ]);
  });

  it("counts the traffic of the interfaces, across reboots", async () => {
    carry(1_000, 2_000);
    await clock.advance(5 * 60_000);
    reopen();
    carry(1_500, 2_500);
    book[Symbol.dispose]();
    carry(10, 20);
    book = open("boot-2");
    const sums = book.read("2026-11-21", "2026-11-21").interfaces.map(({ sent, received }) => [sent, received]);
    expect(sums.reduce(([a = 0, b = 0], [c = 0, d = 0]) => [a + c, b + d], [0, 0])).toEqual([510, 520]);
  });

  it("assigns traffic counted before the clock is set to the first known day", async () => {
    clock.jump(-clock.now());
    book.count({ purpose: "control", direction: "sent", bytes: 7 });
    await clock.advance(2 * HOUR);
    expect(stored()).toBe(0);
    clock.jump(Date.UTC(2026, 10, 23) - clock.now());
    book.count({ purpose: "control", direction: "sent", bytes: 3 });
    await clock.advance(HOUR);
    const days = store.ledger.traffic("0000", "9999").map(({ day, sent }) => [day, sent]);
    expect(days).toEqual([["2026-11-23", 10]]);
  });

  it("begins no new month, with its budget, by a clock that has jumped", async () => {
    const { logger } = captureLog();
    using steady = new SteadyClock({ clock, logger });
    const watch = new NetworkWatch(network, clock);
    using ledger = new TrafficLedger({ store: store.ledger, network, watch, clock: steady, logger, bootId: "boot-1" });
    for (const jump of [40 * DAY, -80 * DAY, 40 * DAY]) {
      clock.jump(jump);
      expect(ledger.today()).toBe("2026-11-21");
      ledger.count({ purpose: "pulls", direction: "received", bytes: 5 });
    }
    expect(new Set(ledger.read("0000-00-00", "9999-99-99").traffic.map(({ day }) => day))).toEqual(
      new Set(["2026-11-21"]),
    );
    clock.jump(40 * DAY);
    expect(ledger.today()).toBe("2026-11-21");
    await clock.advance(HOUR);
    expect(ledger.today()).toBe("2026-12-31");
  });

  it("assigns traffic to the last stored day when the clock was never set", () => {
    book.count({ purpose: "control", direction: "sent", bytes: 1 });
    reopen();
    clock.jump(-clock.now());
    book.count({ purpose: "control", direction: "sent", bytes: 2 });
    reopen();
    expect(store.ledger.traffic("0000", "9999").map(({ day, sent }) => [day, sent])).toEqual([["2026-11-21", 3]]);
  });

  it("counts what another version counted for a purpose of its own", () => {
    const entry = { network: "modem", app: "web", deployment: "d1", sent: 100, received: 0, overhead: 10 } as const;
    // The agent has gone back to an older version, which does not know the purposes.
    for (const purpose of ["firmware", "video"] as string[]) {
      const foreign = { ...entry, day: "2026-01-01", purpose: purpose as TrafficPurpose };
      store.ledger.add({ traffic: [foreign], interfaces: [], marks: [] });
    }
    expect(store.ledger.traffic("2026-01-01", "2026-01-01")).toEqual([
      { ...entry, day: "2026-01-01", purpose: "other" },
      { ...entry, day: "2026-01-01", purpose: "other" },
    ]);

    // After ninety days only the app is kept.
    for (const day of ["2026-11-20", "2026-11-21"]) {
      store.ledger.add({ traffic: [{ ...entry, purpose: "pulls", day }], interfaces: [], marks: [] });
    }
    expect(store.ledger.traffic("2026-01-01", "2026-01-01")).toEqual([
      { ...entry, day: "2026-01-01", purpose: "other", deployment: "", sent: 200, overhead: 20 },
    ]);
  });

  it("keeps thirteen months of days and ninety days of deployments, also after the clock was years ahead", () => {
    for (let day = 0; day < 450; day++) {
      const now = new Date(Date.UTC(2027, 0, 1) + day * DAY).toISOString().slice(0, 10);
      const entry = { network: "modem", purpose: "pulls", app: "web", sent: 0, received: 1, overhead: 0 } as const;
      store.ledger.add({ traffic: [{ ...entry, day: now, deployment: `d${day}` }], interfaces: [], marks: [] });
    }
    const before = store.ledger.traffic("0000", "9999");
    expect(new Set(before.map(({ day }) => day)).size).toBe(400);
    expect(before.filter(({ deployment }) => deployment !== "").length).toBeLessThanOrEqual(92);
    clock.jump(12 * 365 * DAY);
    book.count({ purpose: "control", direction: "sent", bytes: 1 });
    reopen();
    expect(store.ledger.traffic("0000", "9999").length).toBeGreaterThanOrEqual(400);
  });

  it("keeps counting while it cannot write, and writes everything later", async () => {
    const { logger, lines } = captureLog();
    const add = store.ledger.add.bind(store.ledger);
    let isFull = true;
    const refusing: LedgerStore = {
      ...emptyStore(),
      add: (...args: Parameters<typeof add>) => {
        if (isFull) throw new Error("no room");
        add(...args);
      },
    };
    const watch = new NetworkWatch(network, clock);
    using other = new TrafficLedger({ store: refusing, network, watch, clock, logger, bootId: "b" });
    other.count({ purpose: "control", direction: "sent", bytes: 5 });
    await clock.advance(3 * HOUR);
    expect(lines.filter(({ msg }) => String(msg).includes("ledger"))).toHaveLength(1);
    isFull = false;
    await clock.advance(5 * 60_000);
    expect(stored()).toBe(5);
  });
});

function emptyStore(): LedgerStore {
  return { marks: () => [], lastDay: () => undefined, traffic: () => [], interfaces: () => [], add: () => {} };
}
