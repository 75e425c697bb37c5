import { describe, expect, test } from "vitest";
import type { DeliveryAnswer } from "../../../src/control-plane/core/alerts/delivery.ts";
import { replaceParts } from "../../../src/control-plane/metrics/observe-store.ts";
import { MAX_WAITING_MESSAGES } from "../../../src/control-plane/store/alerts.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { ACCOUNT, addRoute, AlertRig, connectDevices, type Received } from "../../support/alerts/alert-rig.ts";
import { someObservation } from "../../support/alerts/alert-simulation.ts";
import { waitFor } from "../../support/wait-for.ts";
import { someAudit } from "../../support/control-plane/people.ts";

const MINUTE = 60_000;

async function openWithAccount(): Promise<Store> {
  const store = openStore(":memory:");
  await store.accounts.createAccount({ id: ACCOUNT, name: "Water works", createdAt: 0 });
  return store;
}

const texts = (received: readonly Received[]) => received.map(({ message }) => message.text);
const firing = async (store: Store) =>
  (await store.alerts.list(ACCOUNT, { state: "firing" }, 100)).alerts
    .map(({ condition, subject }) => `${condition} ${subject.name}`)
    .toSorted();

const silence = async (
  store: Store,
  rig: AlertRig,
  selector: string,
  minutes: number,
  accountId = ACCOUNT,
): Promise<string> => {
  const nowMs = rig.clock.now();
  const id = `sil_${selector}`;
  const about = { conditions: undefined, selector, asset: undefined, reason: "Works", createdBy: "Ada" };
  const created = { id, accountId, ...about, createdAtMs: nowMs, endsAtMs: nowMs + minutes * MINUTE };
  expect(await store.alertSettings.createSilence(created, someAudit("silence.created", accountId))).toBe("stored");
  return id;
};

describe("what is told", () => {
  test("40 devices that are lost together are one message to each channel, and one when all are back", async () => {
    await using store = await openWithAccount();
    await using rig = new AlertRig();
    const devices = await connectDevices(store, rig.clock, 40);
    await addRoute(store, ["ops", "boss"]);
    await rig.start(store);
    for (const { leave } of devices) {
      await rig.clock.advance(2_000);
      await leave();
    }
    await rig.until("the outage to be told", () => rig.received.length === 2, 10_000);
    expect(texts(rig.received)).toEqual(Array(2).fill("Device offline: 40 assets (GW-1, GW-2, GW-3 and 37 more)"));
    expect(rig.received[0]?.message).toMatchObject({ type: "firing", total: 40, open: 40, severity: "critical" });
    const { url, group_id: group } = rig.received[0]?.message ?? {};
    expect(url).toBe(`https://control.example.com/alerts?group=${group}`);
    await rig.skip(60 * MINUTE);
    for (const { join } of devices) await join();
    await rig.until("the end to be told", () => rig.received.length === 4);
    expect(rig.received[3]?.message).toMatchObject({ type: "resolved", total: 40, open: 0 });
    expect(await firing(store)).toEqual([]);
  });

  test("a message is there within five seconds of the time at which its condition holds", async () => {
    await using store = await openWithAccount();
    await using rig = new AlertRig();
    const [device] = await connectDevices(store, rig.clock, 1);
    await addRoute(store, ["ops"]);
    await rig.start(store);
    await device?.leave();
    const leftAt = rig.clock.now();
    await rig.skip(29 * MINUTE);
    await rig.until("the message", () => rig.received.length === 1);
    expect((rig.received[0]?.atMs ?? 0) - leftAt - 30 * MINUTE).toBeLessThanOrEqual(5_000);
  });

  test("routes and silences of another account, which take everything, have nothing to do with it", async () => {
    await using store = await openWithAccount();
    const other = "acc_2";
    await store.accounts.createAccount({ id: other, name: "Stranger", createdAt: 0 });
    await using rig = new AlertRig();
    const [device] = await connectDevices(store, rig.clock, 1);
    await addRoute(store, ["ops"]);
    await addRoute(store, ["ops", "spy"], { selector: "*" }, other);
    await silence(store, rig, "*", 24 * 60, other);
    await rig.start(store);
    await device?.leave();
    await rig.until("the message", () => rig.received.length > 0, MINUTE);
    await device?.join();
    await rig.until("the end", () => rig.received.length > 1);
    await rig.skip(30 * MINUTE);
    expect(rig.received.map(({ channel, message }) => [channel, message.account_id, message.type])).toEqual([
      ["ops", ACCOUNT, "firing"],
      ["ops", ACCOUNT, "resolved"],
    ]);
    expect(await store.alertOutbox.listDeliveries(other, {}, 9)).toEqual([]);
  });

  test("10,000 devices are one message within 10 s, written in parts that others need not wait for", async () => {
    await using store = await openWithAccount();
    await using rig = new AlertRig();
    await addRoute(store, ["ops"]);
    // They are looked at before they have been gone for their time.
    const heldMs = rig.clock.now() + 50_000;
    const gone = Array.from({ length: 10_000 }, (_, at) =>
      someObservation({ name: `GW-${at}`, sinceMs: heldMs - 30 * MINUTE }),
    );
    const parts: number[] = [];
    const { alerts, alertOutbox } = store;
    let isJudging = false;
    const flooded = replaceParts(store, {
      alerts: replacing(alerts, {
        readRound: async () => {
          isJudging = true;
          return alerts.readRound();
        },
        saveRound: async (round) => {
          await alerts.saveRound(round);
          isJudging = false;
        },
        listAccounts: async (_now, _newest, after) => (after === "" ? [ACCOUNT] : []),
        observeAssets: async (_account, _time, after, limit) => {
          const from = after === "" ? 0 : Number(after);
          const observed = gone.slice(from, from + limit);
          return { observed, last: observed.length < limit ? undefined : String(from + limit) };
        },
        change: async (account, changes, ids, nowMs) => {
          parts.push(changes.length);
          return alerts.change(account, changes, ids, nowMs);
        },
      }),
      alertOutbox: replacing(alertOutbox, {
        assign: async (account, assignments, nowMs) => {
          parts.push(assignments.length);
          return alertOutbox.assign(account, assignments, nowMs);
        },
      }),
    });
    await rig.start(flooded);
    // The time stands still while the service judges, however long this machine takes for it.
    await waitFor(
      "the message",
      async () => {
        if (!isJudging && rig.received.length === 0) await rig.clock.advance(1_000);
        return rig.received.length === 1;
      },
      { intervalMs: 0 },
    );
    expect((rig.received[0]?.atMs ?? NaN) - heldMs).toBeLessThanOrEqual(10_000);
    expect(rig.received[0]?.message).toMatchObject({ total: 10_000, open: 10_000, type: "firing" });
    expect(rig.received[0]?.message.alerts).toHaveLength(50);
    expect(JSON.stringify(rig.received[0]?.message).length).toBeLessThan(20_000);
    expect(Math.max(...parts)).toBe(200);
    expect(parts.reduce((sum, count) => sum + count, 0)).toBe(20_000);
  });
});

const hourOf = (ms: number) => new Date(ms).toISOString().slice(11, 16);

describe("silences", () => {
  test("what was told is not repeated while all of it is silenced, and goes on after that; its end is told", async () => {
    await using store = await openWithAccount();
    await using rig = new AlertRig();
    const devices = await connectDevices(store, rig.clock, 2);
    await addRoute(store, ["ops"], { repeat_s: 600 });
    await rig.start(store);
    for (const [at, { asset, leave }] of devices.entries()) {
      const tags = new Map([["site", String(at)]]);
      await store.assetSettings.changeTags(asset.uuid, tags, false, someAudit("asset.tagged"));
      await leave();
    }
    await rig.until("the outage to be told", () => rig.received.length === 1, MINUTE);
    // Of one device it is not enough.
    await silence(store, rig, "site=0", 60);
    await rig.until("the repetition", () => rig.received.length === 2, MINUTE);
    await silence(store, rig, "site=1", 60);
    await rig.skip(45 * MINUTE);
    expect(rig.received).toHaveLength(2);
    await rig.until("the repetition after the end of a silence", () => rig.received.length === 3, MINUTE);
    const id = await silence(store, rig, "*", 24 * 60);
    await rig.skip(30 * MINUTE);
    expect(rig.received).toHaveLength(3);
    // One that is ended before its time holds nothing back any more.
    await store.alertSettings.endSilence(ACCOUNT, id, rig.clock.now(), someAudit("silence.ended"));
    await rig.until("the repetition after a silence was ended", () => rig.received.length === 4, MINUTE);
    await silence(store, rig, "role!=none", 60);
    for (const { join } of devices) await join();
    await rig.until("the end", () => rig.received.length === 5);
    expect(rig.received.map(({ message }) => message.type)).toEqual([
      "firing",
      "repeat",
      "repeat",
      "repeat",
      "resolved",
    ]);
  });

  test("what waits for the end of quiet hours stays untold while it is silenced", async () => {
    await using store = await openWithAccount();
    await using rig = new AlertRig();
    const [device] = await connectDevices(store, rig.clock, 1);
    const nowMs = rig.clock.now() + 31 * MINUTE;
    const hours = { from: hourOf(nowMs - 60 * MINUTE), to: hourOf(nowMs + 60 * MINUTE), time_zone: "UTC" };
    await addRoute(store, ["ops"], { quiet_hours: { ...hours, except_critical: false } });
    await rig.start(store);
    await device?.leave();
    await rig.until("the alert", async () => (await firing(store)).length === 1, MINUTE);
    await silence(store, rig, "*", 180);
    await rig.skip(150 * MINUTE);
    expect(rig.received).toEqual([]);
    await rig.until("the message after the end of the silence", () => rig.received.length === 1, MINUTE);
  });
});

describe("channels that do not answer", () => {
  test("for one so many messages wait; what is more fails, and is listed", async () => {
    await using store = await openWithAccount();
    await addRoute(store, ["hangs"]);
    const { alerts, alertOutbox } = store;
    const alert = { condition: "disk_low", severity: "warning", state: "firing", sinceMs: 0, firedAtMs: 0 } as const;
    const opening = { ...alert, subject: { kind: "asset", id: "gone", name: "GW-1" } } as const;
    await alerts.change(ACCOUNT, [{ kind: "open", alert: opening, usualPauseMs: undefined }], ["alr_1"], 0);
    const times = { firstSinceMs: 0, openedAtMs: 0, sends: 0, sentTotal: 0, lastSentAtMs: undefined };
    const group = { id: "grp_1", routeId: "all", condition: "disk_low", severity: "warning", ...times } as const;
    await alertOutbox.assign(ACCOUNT, [{ alertId: "alr_1", routeId: "all", group }], 0);
    const [due] = await alertOutbox.listDueGroups(0, 1);
    if (!due) throw new Error("no group is due");
    const step = { message: "repeat", nextAtMs: undefined, isClosed: false } as const;
    for (let sends = 0; sends <= MAX_WAITING_MESSAGES; sends++) {
      const said = { id: `msg_${sends}`, message: "{}", channels: ["hangs"], total: 1 };
      await alertOutbox.step({ ...due, group: { ...due.group, sends } }, step, said, 0);
    }
    const listed = (state: "waiting" | "failed") =>
      alertOutbox.listDeliveries(ACCOUNT, { state }, 2 * MAX_WAITING_MESSAGES);
    expect(await listed("waiting")).toHaveLength(MAX_WAITING_MESSAGES);
    expect(await listed("failed")).toMatchObject([
      { messageId: `msg_${MAX_WAITING_MESSAGES}`, answer: "Not sent: too many messages wait for the channel." },
    ]);
  });

  test("one that hangs delays no other one", async () => {
    await using store = await openWithAccount();
    await using rig = new AlertRig();
    const [first, second] = await connectDevices(store, rig.clock, 2);
    await addRoute(store, ["hangs", "works"]);
    const hung = Promise.withResolvers<DeliveryAnswer>();
    rig.answer = (channel) => (channel === "hangs" ? hung.promise : { kind: "delivered", answer: "200" });
    await rig.start(store);
    await first?.leave();
    await rig.skip(10 * MINUTE);
    await second?.leave();
    const of = (name: string) => rig.received.filter(({ channel }) => channel === name).length;
    await rig.until("both messages at the other channel", () => of("works") === 2, 5_000);
    expect(of("hangs")).toBeLessThanOrEqual(1);
    hung.resolve({ kind: "delivered", answer: "200" });
    await rig.until("both messages at the one that hung", () => of("hangs") >= 2, 5_000);
  });

  test("one that is gone is disabled, which the other channels tell", async () => {
    await using store = await openWithAccount();
    await using rig = new AlertRig();
    const [device] = await connectDevices(store, rig.clock, 1);
    await addRoute(store, ["broken", "works"]);
    rig.answer = (channel) => ({ kind: channel === "broken" ? "gone" : "delivered", answer: "410 or 200" });
    await rig.start(store);
    await device?.leave();
    await rig.until(
      "that to be told",
      () => texts(rig.received).includes("Channel of alerts disabled: broken"),
      MINUTE,
    );
    expect(rig.received.filter(({ channel }) => channel === "broken")).toHaveLength(1);
    expect(await firing(store)).toEqual(["channel_disabled broken", "device_offline GW-1"]);
    const deliveries = await store.alertOutbox.listDeliveries(ACCOUNT, { channel: "broken" }, 50);
    expect(deliveries.map(({ state, answer }) => [state, answer])).toEqual([["failed", "410 or 200"]]);
  });

  test("one that fails is tried again, with the same id, and hears of the end after that", async () => {
    await using store = await openWithAccount();
    await using rig = new AlertRig();
    const [device] = await connectDevices(store, rig.clock, 1);
    await addRoute(store, ["ops"]);
    rig.answer = () => ({ kind: rig.received.length < 4 ? "failed" : "delivered", answer: "500 or 200" });
    await rig.start(store);
    await device?.leave();
    await rig.until("the first attempt", () => rig.received.length === 1, MINUTE);
    await device?.join();
    await rig.until("the end to be told", () => rig.received.length === 5, 30_000);
    expect(rig.received.map(({ message }) => message.type)).toEqual([...Array<string>(4).fill("firing"), "resolved"]);
    expect(new Set(rig.received.map(({ id }) => id)).size).toBe(2);
  });
});

describe("the service itself goes", () => {
  test("after an hour without it the same alerts are open, and devices that were there are not alarmed about", async () => {
    await using store = await openWithAccount();
    await using rig = new AlertRig();
    const [gone, there] = await connectDevices(store, rig.clock, 2);
    await addRoute(store, ["ops"]);
    await rig.start(store);
    await gone?.leave();
    await rig.until("the alert", () => rig.received.length === 1, MINUTE);
    await there?.leave();
    await rig.stop();
    rig.clock.pass(60 * MINUTE);
    await rig.start(store);
    await rig.skip(10 * MINUTE);
    expect(await firing(store)).toEqual(["device_offline GW-1"]);
    await there?.join();
    await rig.skip(30 * MINUTE);
    expect(await firing(store)).toEqual(["device_offline GW-1"]);
    expect(rig.received).toHaveLength(1);
    await there?.leave();
    await rig.until("the other one to be told", () => rig.received.length === 2, MINUTE);
    expect(texts(rig.received)[1]).toBe("Device offline: GW-2");
  });
});

/** The same object with other methods in place of some. */
function replacing<T extends object>(object: T, methods: Partial<T>): T {
  return new Proxy(object, {
    get(target, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name) as unknown;
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
