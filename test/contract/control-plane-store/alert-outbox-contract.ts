import { expect, test } from "vitest";
import type { Asset } from "../../../src/control-plane/core/asset.ts";
import type { DeliveryStep } from "../../../src/control-plane/core/alerts/delivery.ts";
import { appendEvent } from "../../../src/control-plane/core/event-log.ts";
import { fail } from "../../../src/control-plane/core/transitions.ts";
import { type AlertDelivery, MAX_MESSAGES_PER_HOUR } from "../../../src/control-plane/store/alerts.ts";
import { putChannel, removeChannel } from "../../support/alerts/put-settings.ts";
import { someAudit as audit } from "../../support/control-plane/people.ts";
import type { ErrorCode } from "../../../src/protocol/errors/errors.ts";
import { receivedDeployment } from "../../support/deployment-record.ts";
import { createDeployment, updateDeployment } from "../../support/store-deployment.ts";
import { assignment, NOW, opening, say, someChannel } from "./alert-records.ts";
import {
  ACCOUNT,
  describeDomain,
  openWithAccounts,
  register,
  someAsset,
  type StoreHarness,
  TWO_ACCOUNTS,
} from "./harness.ts";

const STRANGER = TWO_ACCOUNTS[1];
const SUCCESS = { status: "Success", step: "done", message: "Done." } as const;

const names = (found: readonly AlertDelivery[]) =>
  found.map(({ channel, messageId, attempts }) => `${channel} ${messageId} ${attempts}`);

/** Contract of stores for the outbox of alerts. */
export function alertOutboxContract(harness: StoreHarness): void {
  describeDomain("the outbox of alerts", harness, () => {
    test("a group counts its alerts, and is due when they change", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts, alertOutbox } = store;
      const assets = [await register(store, someAsset()), await register(store, someAsset())];
      await alerts.change(
        ACCOUNT,
        assets.map((asset) => opening(asset)),
        ["alr_1", "alr_2"],
        NOW,
      );
      await alertOutbox.assign(ACCOUNT, [assignment("alr_1"), assignment("alr_2"), assignment("alr_none")], NOW);
      await alertOutbox.assign(ACCOUNT, [assignment("alr_1")], NOW);
      expect(await alertOutbox.listDueGroups(NOW - 1, 5)).toEqual([]);
      const [due] = await alertOutbox.listDueGroups(NOW, 5);
      if (!due) throw new Error("nothing is due");
      expect(due).toMatchObject({ accountId: ACCOUNT, counts: { total: 2, open: 2, unacknowledged: 2 } });
      await store.assetSettings.changeTags(
        assets[0]?.uuid ?? "",
        new Map([["site", "7"]]),
        false,
        audit("asset.tagged"),
      );
      const [first, second] = await alertOutbox.listUnacknowledged("grp_1", "", 5);
      expect(first).toMatchObject({ id: "alr_1", subject: { id: assets[0]?.uuid, type: "gateway" } });
      expect([first?.subject.tags, second?.subject.tags]).toEqual([new Map([["site", "7"]]), new Map()]);
      expect((await alertOutbox.listUnacknowledged("grp_1", "alr_1", 5)).map(({ id }) => id)).toEqual(["alr_2"]);
      await alerts.acknowledge(ACCOUNT, { ids: ["alr_2"] }, NOW, "Ada", audit("alert.acknowledged"));
      expect((await alertOutbox.listUnacknowledged("grp_1", "", 5)).map(({ id }) => id)).toEqual(["alr_1"]);
      await alertOutbox.step(due, { message: undefined, nextAtMs: undefined, isClosed: false }, undefined, NOW);
      expect(await alertOutbox.listDueGroups(NOW, 5)).toEqual([]);
      await alerts.change(ACCOUNT, [{ kind: "resolve", id: "alr_1" }], [], NOW + 1);
      expect((await alertOutbox.listDueGroups(NOW + 1, 5))[0]?.counts).toEqual({
        total: 2,
        open: 1,
        unacknowledged: 0,
      });
      await alertOutbox.step(due, { message: undefined, nextAtMs: undefined, isClosed: true }, undefined, NOW);
      expect(await alertOutbox.listGroups(ACCOUNT)).toEqual([]);
    });

    test("a channel gets so many messages an hour, and the others wait without delaying other channels", async () => {
      await using store = await openWithAccounts(harness);
      const { alertOutbox } = store;
      for (const name of ["ops", "calm"]) await putChannel(store, someChannel({ name }));
      let due = await say(store, "msg_0");
      const repeat = async (id: string, channels: readonly string[]) => {
        const sends = due.group.sends + 1;
        due = { ...due, group: { ...due.group, sends } };
        const step = { message: "repeat", nextAtMs: undefined, isClosed: false } as const;
        await alertOutbox.step(due, step, { id, message: "{}", channels, total: 1 }, NOW);
      };
      const delivered = { state: "delivered", dueMs: undefined, failingSinceMs: undefined, disables: false } as const;
      const claim = (atMs: number) => alertOutbox.claim("ins_1", atMs, atMs + 1, 10, []);
      const sendOne = async (atMs: number) => {
        const claimed = await claim(atMs);
        for (const each of claimed) await alertOutbox.finish(each, "ins_1", delivered, "200", atMs);
        return names(claimed);
      };
      for (let at = 1; at <= MAX_MESSAGES_PER_HOUR; at++) {
        await repeat(`msg_${at}`, ["ops"]);
        expect(await sendOne(NOW)).toEqual([`ops msg_${at - 1} 1`]);
      }
      await repeat("msg_last", ["calm"]);
      expect(await sendOne(NOW)).toEqual(["calm msg_last 1"]);
      expect(await claim(NOW + 3_599_999)).toEqual([]);
      // What the limit holds back is not the service's trouble.
      expect(await alertOutbox.countStuck(NOW + 3_599_999)).toBe(0);
      expect(await alertOutbox.countStuck(NOW + 3_600_000)).toBe(1);
      expect(await sendOne(NOW + 3_600_000)).toEqual([`ops msg_${MAX_MESSAGES_PER_HOUR} 1`]);
    });

    test("a step is stored once, with its message to each channel that is in use", async () => {
      await using store = await openWithAccounts(harness);
      const { alertOutbox } = store;
      await putChannel(store, someChannel());
      const due = await say(store, "msg_1", ["ops", "removed"]);
      // Another instance had decided the same.
      const message = { id: "msg_2", message: "{}", channels: ["ops"], total: 1 };
      await alertOutbox.step(due, { message: "firing", nextAtMs: undefined, isClosed: false }, message, NOW);
      const [delivery, ...more] = await alertOutbox.listDeliveries(ACCOUNT, {}, 10);
      expect(more).toEqual([]);
      expect(delivery).toMatchObject({
        channel: "ops",
        messageId: "msg_1",
        state: "waiting",
        attempts: 0,
        createdAtMs: NOW,
      });
      expect((await alertOutbox.listGroups(ACCOUNT))[0]).toMatchObject({ sends: 1, sentTotal: 1, lastSentAtMs: NOW });
      expect(await alertOutbox.listDeliveries(STRANGER, {}, 10)).toEqual([]);
      expect(await alertOutbox.listDeliveries(ACCOUNT, { state: "failed" }, 10)).toEqual([]);
      expect(await alertOutbox.listDeliveries(ACCOUNT, { channel: "ops" }, 10, delivery?.id)).toEqual([]);
    });

    test("an alert of a failed deployment has what failed: what had ended last when it began", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts, alertOutbox, deployments } = store;
      const [failing, mended, onDevice] = [
        await register(store, someAsset()),
        await register(store, someAsset()),
        await register(store, someAsset()),
      ];
      const end = async ({ uuid }: Asset, id: string, app: string, atMs: number, code?: ErrorCode) => {
        const { lastEvent, ...deployment } = receivedDeployment({ id, assetUuid: uuid, app, accountId: ACCOUNT });
        if (!lastEvent) throw new Error("a received deployment has had an event");
        const fields = { ...deployment, lastSeq: 0, lastEvent: undefined };
        await createDeployment(deployments, fields, { ...lastEvent, deployment_id: id });
        await updateDeployment(deployments, id, (current) =>
          code === undefined ? appendEvent(current, SUCCESS, atMs) : fail(current, atMs, code),
        );
      };
      await end(failing, "dep_1", "web", NOW - 9, "ImagePullBackOff");
      await end(failing, "dep_2", "db", NOW - 5, "DeploymentTimeout");
      await end(failing, "dep_3", "late", NOW + 5, "Internal");
      await end(mended, "dep_4", "web", NOW - 9, "Internal");
      await end(mended, "dep_5", "web", NOW - 5);
      const condition = "deployment_failed";
      const changes = [failing, mended, onDevice].map((asset) => opening(asset, { condition }));
      const away = opening(failing, { condition: "device_offline" });
      const ids = ["alr_1", "alr_2", "alr_3", "alr_4"];
      await alerts.change(ACCOUNT, [...changes, away], ids, NOW);
      await alertOutbox.assign(
        ACCOUNT,
        ids.map((id) => assignment(id)),
        NOW,
      );
      const [group] = await alertOutbox.listGroups(ACCOUNT);
      if (!group) throw new Error("no group");
      const told = new Map((await alertOutbox.listTold(group, 9)).map(({ id, cause }) => [id, cause]));
      expect(ids.map((id) => told.get(id))).toEqual(["db, DeploymentTimeout", undefined, undefined, undefined]);
    });

    test("a message has the alerts that are new first, with what identifies their assets", async () => {
      await using store = await openWithAccounts(harness);
      const { alerts, alertOutbox, assets } = store;
      const [first, second, third] = [
        await register(store, someAsset()),
        await register(store, someAsset()),
        await register(store, someAsset()),
      ];
      const rollout = { kind: "rollout", id: "rol_1", name: "kiosks revision 2" } as const;
      const changes = [
        opening(first, { sinceMs: NOW - 1 }),
        opening(second, { sinceMs: NOW - 2 }),
        opening(third, { sinceMs: NOW - 9 }),
        opening(third, { sinceMs: NOW - 3, condition: "rollout_stopped", subject: rollout }),
      ];
      await alerts.change(ACCOUNT, changes, ["alr_1", "alr_2", "alr_3", "alr_4"], NOW);
      const told = async (limit = 9) => {
        const [group] = await alertOutbox.listGroups(ACCOUNT);
        if (!group) throw new Error("no group");
        return alertOutbox.listTold(group, limit);
      };
      const ids = async (limit?: number) => (await told(limit)).map(({ id }) => id);
      await alertOutbox.assign(ACCOUNT, [assignment("alr_1"), assignment("alr_2"), assignment("alr_4")], NOW);
      expect(await ids()).toEqual(["alr_4", "alr_2", "alr_1"]);
      expect(await ids(2)).toEqual(["alr_4", "alr_2"]);
      const [due] = await alertOutbox.listDueGroups(NOW, 1);
      if (!due) throw new Error("no group is due");
      const sent = { id: "msg_1", message: "{}", channels: [], total: 3 };
      await alertOutbox.step(due, { message: "firing", nextAtMs: undefined, isClosed: false }, sent, NOW);
      await alertOutbox.assign(ACCOUNT, [assignment("alr_3")], NOW + 1);
      await alerts.change(ACCOUNT, [{ kind: "resolve", id: "alr_1" }], [], NOW + 2);
      await assets.removeAsset(second.uuid);
      const { uuid, name, serialNumber } = first;
      const about = { state: "firing", firedAtMs: NOW, resolvedAtMs: undefined } as const;
      expect(await told()).toEqual([
        {
          ...about,
          id: "alr_3",
          sinceMs: NOW - 9,
          subject: { kind: "asset", id: third.uuid, name: third.name, serialNumber: third.serialNumber },
        },
        { ...about, id: "alr_4", sinceMs: NOW - 3, subject: { ...rollout, serialNumber: undefined } },
        {
          ...about,
          id: "alr_2",
          sinceMs: NOW - 2,
          subject: { kind: "asset", id: second.uuid, name: second.name, serialNumber: undefined },
        },
        {
          id: "alr_1",
          state: "resolved",
          subject: { kind: "asset", id: uuid, name, serialNumber },
          sinceMs: NOW - 1,
          firedAtMs: NOW,
          resolvedAtMs: NOW + 2,
        },
      ]);
    });

    test("channels are stuck that could be sent to long ago, and have answered nothing since", async () => {
      await using store = await openWithAccounts(harness);
      const { alertOutbox } = store;
      for (const name of ["ops", "other"]) await putChannel(store, someChannel({ name }));
      await say(store, "msg_1", ["ops", "other"]);
      expect([await alertOutbox.countStuck(NOW - 1), await alertOutbox.countStuck(NOW)]).toEqual([0, 2]);
      const [claimed] = await alertOutbox.claim("ins_1", NOW + 5, NOW + 9, 1, [`${ACCOUNT} other`]);
      if (!claimed) throw new Error("nothing was claimed");
      const again = { state: "waiting", dueMs: NOW + 50, failingSinceMs: NOW + 5, disables: false } as const;
      await alertOutbox.finish(claimed, "ins_1", again, "500", NOW + 5);
      expect([await alertOutbox.countStuck(NOW + 4), await alertOutbox.countStuck(NOW + 50)]).toEqual([1, 2]);
    });

    test("what waits behind a failing message of its group is not stuck", async () => {
      await using store = await openWithAccounts(harness);
      const { alertOutbox } = store;
      await putChannel(store, someChannel());
      const due = await say(store, "msg_1");
      for (const sends of [1, 2]) {
        const step = { message: "repeat", nextAtMs: undefined, isClosed: false } as const;
        const message = { id: `msg_${sends + 1}`, message: "{}", channels: ["ops"], total: 1 };
        await alertOutbox.step({ ...due, group: { ...due.group, sends } }, step, message, NOW);
      }
      expect(await alertOutbox.listDeliveries(ACCOUNT, { state: "waiting" }, 5)).toHaveLength(3);
      const retryAtMs = NOW + 6 * 3_600_000;
      const answered = async (atMs: number, step: DeliveryStep) => {
        const claimed = await alertOutbox.claim("ins_1", atMs, atMs + 1, 10, []);
        for (const each of claimed) await alertOutbox.finish(each, "ins_1", step, "", atMs);
        return names(claimed);
      };
      const again = { state: "waiting", dueMs: retryAtMs, failingSinceMs: NOW, disables: false } as const;
      expect(await answered(NOW, again)).toEqual(["ops msg_1 1"]);
      expect(await alertOutbox.claim("ins_1", retryAtMs - 1, retryAtMs, 10, [])).toEqual([]);
      expect(await alertOutbox.countStuck(retryAtMs - 1)).toBe(0);
      expect(await alertOutbox.countStuck(retryAtMs)).toBe(1);
      const failed = { state: "failed", dueMs: undefined, failingSinceMs: NOW, disables: false } as const;
      expect(await answered(retryAtMs + 5, failed)).toEqual(["ops msg_1 2"]);
      expect(await alertOutbox.countStuck(retryAtMs + 4)).toBe(0);
      expect(await alertOutbox.countStuck(retryAtMs + 5)).toBe(1);
    });

    test("a channel whose messages are claimed, and never answered for, is stuck", async () => {
      await using store = await openWithAccounts(harness);
      const { alertOutbox } = store;
      await putChannel(store, someChannel());
      await say(store, "msg_1");
      expect(await alertOutbox.claim("ins_1", NOW + 60, NOW + 120, 10, [])).toHaveLength(1);
      expect(await alertOutbox.countStuck(NOW + 60)).toBe(1);
    });

    test("a message is claimed by one instance, again after its time, and in order for a group", async () => {
      await using store = await openWithAccounts(harness);
      const { alertOutbox, alertSettings } = store;
      for (const name of ["ops", "other"]) await putChannel(store, someChannel({ name }));
      await say(store, "msg_1", ["ops", "other"]);
      const [group] = await alertOutbox.listGroups(ACCOUNT);
      if (!group) throw new Error("no group");
      const due = {
        accountId: ACCOUNT,
        group,
        counts: { total: 1, open: 1, unacknowledged: 1 },
      };
      const second = { id: "msg_2", message: "{}", channels: ["ops"], total: 1 };
      await alertOutbox.step(due, { message: "resolved", nextAtMs: undefined, isClosed: true }, second, NOW);
      const claim = async (instance: string, nowMs: number, busy: string[] = []) =>
        (await alertOutbox.claim(instance, nowMs, nowMs + 100, 10, busy)).toSorted((a, b) => a.id - b.id);
      const claimed = await Promise.all([
        claim("ins_1", NOW, [`${ACCOUNT} other`]),
        claim("ins_2", NOW, [`${ACCOUNT} other`]),
      ]);
      expect(names(claimed.flat())).toEqual(["ops msg_1 1"]);
      expect(names(await claim("ins_2", NOW))).toEqual(["other msg_1 1"]);
      expect(names(await claim("ins_2", NOW + 99))).toEqual([]);
      const [again] = await claim("ins_3", NOW + 100, [`${ACCOUNT} other`]);
      if (!again) throw new Error("nothing was claimed");
      expect(names([again])).toEqual(["ops msg_1 2"]);
      const delivered = { state: "delivered", dueMs: undefined, failingSinceMs: undefined, disables: false } as const;
      // The first one comes too late to say what became of it.
      await alertOutbox.finish(again, "ins_1", delivered, "200", NOW + 101);
      const retry = { state: "waiting", dueMs: NOW + 300, failingSinceMs: NOW, disables: false } as const;
      await alertOutbox.finish(again, "ins_3", retry, "500", NOW + 101);
      expect(names(await claim("ins_1", NOW + 299, [`${ACCOUNT} other`]))).toEqual([]);
      const [third] = await claim("ins_1", NOW + 300, [`${ACCOUNT} other`]);
      if (!third) throw new Error("nothing was claimed");
      await alertOutbox.finish(third, "ins_1", delivered, "200 OK", NOW + 301);
      expect(names(await claim("ins_1", NOW + 301, [`${ACCOUNT} other`]))).toEqual(["ops msg_2 1"]);
      expect((await alertOutbox.listDeliveries(ACCOUNT, { state: "delivered" }, 5))[0]).toMatchObject({
        messageId: "msg_1",
        attempts: 3,
        answer: "200 OK",
        answeredAtMs: NOW + 301,
      });
      expect((await alertSettings.findChannel(ACCOUNT, "ops"))?.failingSinceMs).toBeUndefined();
    });

    test("what waits for a channel that is removed fails, and what is old is removed", async () => {
      await using store = await openWithAccounts(harness);
      const { alertOutbox } = store;
      await putChannel(store, someChannel());
      await say(store, "msg_1");
      expect(await alertOutbox.removeOld(NOW + 1, 10)).toBe(false);
      await removeChannel(store, ACCOUNT, "ops");
      expect(await alertOutbox.claim("ins_1", NOW, NOW + 1, 10, [])).toEqual([]);
      expect(await alertOutbox.listDeliveries(ACCOUNT, { state: "failed" }, 5)).toHaveLength(1);
      expect(await alertOutbox.removeOld(NOW, 10)).toBe(false);
      expect(await alertOutbox.listDeliveries(ACCOUNT, {}, 5)).toHaveLength(1);
      expect(await alertOutbox.removeOld(NOW + 1, 1)).toBe(true);
      expect(await alertOutbox.listDeliveries(ACCOUNT, {}, 5)).toEqual([]);
    });
  });
}
