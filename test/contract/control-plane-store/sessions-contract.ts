import { expect, test } from "vitest";
import type { Deployment, DeploymentChange } from "../../../src/control-plane/core/deployment.ts";
import { toTransition } from "../../../src/control-plane/core/next.ts";
import { fail } from "../../../src/control-plane/core/transitions.ts";
import { type NewSession, StaleSessionError } from "../../../src/control-plane/store/sessions.ts";
import { acknowledged, failed, receivedDeployment, SENDING, T0 } from "../../support/deployment-record.ts";
import { describeDomain, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";
import { createDeployment, updateDeployment, updateDeployments } from "../../support/store-deployment.ts";

const sessionOf = (assetUuid: string, fields: Partial<NewSession> = {}): NewSession => ({
  assetUuid,
  sessionId: "session",
  instanceId: "ins_1",
  protocol: 3,
  at: 5,
  ...fields,
});

const report = (hash: string) => ({ value: { hash, apps: [], device: undefined }, at: 1 });

/** Contract of stores for the sessions of devices, and for writes that depend on one. */
export function sessionsContract(harness: StoreHarness): void {
  describeDomain("sessions", harness, () => {
    test("have epochs of their device, which increase with each", async () => {
      await using store = await openWithAccounts(harness);
      const { sessions } = store;
      const { uuid } = await register(store, someAsset());
      const { uuid: other } = await register(store, someAsset());
      const before = await sessions.find(uuid);
      expect(before?.instanceId).toBeUndefined();
      expect(before?.lastSeenAt).toBeUndefined();
      expect(await sessions.open(sessionOf(uuid))).toEqual({
        epoch: 1,
        replacedInstanceId: undefined,
        reportHash: undefined,
        healthAt: undefined,
        hasOpenDeployments: false,
      });
      expect(await sessions.find(uuid)).toEqual({ epoch: 1, instanceId: "ins_1", protocol: 3, lastSeenAt: 5 });
      const again = await sessions.open(sessionOf(uuid, { instanceId: "ins_2", protocol: 2, at: 6 }));
      expect(again).toMatchObject({ epoch: 2, replacedInstanceId: "ins_1" });
      expect(await sessions.find(uuid)).toEqual({ epoch: 2, instanceId: "ins_2", protocol: 2, lastSeenAt: 6 });
      expect((await sessions.open(sessionOf(other)))?.epoch).toBe(1);
    });

    test("that are opened concurrently get different epochs, and the highest is on record", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const instances = Array.from({ length: 8 }, (_, index) => `ins_${index}`);
      const opened = await Promise.all(
        instances.map((instanceId) => store.sessions.open(sessionOf(uuid, { instanceId }))),
      );
      const epochs = opened.map((session) => session?.epoch ?? 0);
      expect(epochs.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      const last = await store.sessions.find(uuid);
      expect(last).toMatchObject({ epoch: 8, instanceId: instances[epochs.indexOf(8)] });
    });

    test("end once, and never by an earlier one of the device", async () => {
      await using store = await openWithAccounts(harness);
      const { sessions } = store;
      const { uuid: assetUuid } = await register(store, someAsset());
      await sessions.open(sessionOf(assetUuid));
      await sessions.close({ assetUuid, epoch: 1 }, 7, "lost");
      expect(await sessions.find(assetUuid)).toMatchObject({ epoch: 1, instanceId: undefined, lastSeenAt: 7 });
      await sessions.open(sessionOf(assetUuid, { at: 8 }));
      await sessions.close({ assetUuid, epoch: 1 }, 9, "lost");
      expect(await sessions.find(assetUuid)).toMatchObject({ epoch: 2, instanceId: "ins_1", lastSeenAt: 8 });
    });

    test("are listed by instance, and all of one or of every instance end together", async () => {
      await using store = await openWithAccounts(harness);
      const { sessions } = store;
      const uuids: string[] = [];
      for (const instanceId of ["ins_1", "ins_1", "ins_2", "ins_3"]) {
        const { uuid } = await register(store, someAsset());
        uuids.push(uuid);
        await sessions.open(sessionOf(uuid, { instanceId }));
      }
      const held = async () => {
        const lists = await Promise.all(["ins_1", "ins_2", "ins_3"].map((id) => sessions.listHeld(id)));
        return lists.map((list) => list.map(({ assetUuid }) => uuids.indexOf(assetUuid)).toSorted((a, b) => a - b));
      };
      expect(await held()).toEqual([[0, 1], [2], [3]]);
      expect(await sessions.listHeld("ins_2")).toEqual([{ assetUuid: uuids[2], epoch: 1 }]);
      await sessions.closeAll("ins_1");
      expect(await held()).toEqual([[], [2], [3]]);
      await sessions.closeAll(undefined);
      expect(await held()).toEqual([[], [], []]);
      expect(await sessions.find(uuids[0]!)).toMatchObject({ epoch: 1, lastSeenAt: 5 });
    });

    test("there are none of a removed asset, and a write for its session is refused", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid: assetUuid } = await register(store, someAsset());
      await store.sessions.open(sessionOf(assetUuid));
      await store.assets.removeAsset(assetUuid);
      expect(await store.sessions.find(assetUuid)).toBeUndefined();
      expect(await store.sessions.open(sessionOf(assetUuid))).toBeUndefined();
      await store.sessions.close({ assetUuid, epoch: 1 }, 9, "lost");
      const update = updateDeployment(store.deployments, "dep_1", () => undefined, { assetUuid, epoch: 1 });
      await expect(update).rejects.toThrow(StaleSessionError);
    });

    test("a deployment is changed for the device's session only, also if that is over, and not for an earlier one", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid: assetUuid } = await register(store, someAsset());
      const { lastEvent, ...deployment } = receivedDeployment({ assetUuid });
      await createDeployment(store.deployments, { ...deployment, lastSeq: 0, lastEvent: undefined }, lastEvent!);
      const write = (epoch: number) =>
        updateDeployment(store.deployments, "dep_1", () => ({ fields: { state: acknowledged(T0 + epoch) } }), {
          assetUuid,
          epoch,
        });
      await store.sessions.open(sessionOf(assetUuid));
      expect(await write(1)).toMatchObject({ state: acknowledged(T0 + 1) });
      await store.sessions.close({ assetUuid, epoch: 1 }, 6, "lost");
      expect(await write(1)).toMatchObject({ version: 3 });
      await store.sessions.open(sessionOf(assetUuid));
      await expect(write(1)).rejects.toThrow(StaleSessionError);
      await expect(write(3)).rejects.toThrow(StaleSessionError);
      expect(await write(2)).toMatchObject({ version: 4, state: acknowledged(T0 + 2) });
      // A session that has replaced it since the record was read.
      const fence = { assetUuid, epoch: 2 };
      const before = await store.deployments.findDeployment("dep_1", fence);
      await store.sessions.open(sessionOf(assetUuid));
      const step = toTransition(before!, { fields: { state: acknowledged(T0 + 9) } });
      expect(await store.deployments.updateDeployment({ ...step, fence })).toBe(false);
      expect(await store.deployments.findDeployment("dep_1")).toMatchObject({
        version: 4,
        state: acknowledged(T0 + 2),
      });
    });

    test("of changes that arrive together, one for an earlier session is refused and the others are stored", async () => {
      await using store = await openWithAccounts(harness);
      const { lastEvent, ...deployment } = receivedDeployment();
      const ids = ["dep_1", "dep_2", "dep_3"];
      const assets = await Promise.all(ids.map(() => register(store, someAsset())));
      const write = (id: string, epoch: number) => {
        const assetUuid = assets[ids.indexOf(id)]!.uuid;
        return updateDeployment(store.deployments, id, () => ({ fields: { state: acknowledged(T0 + 1) } }), {
          assetUuid,
          epoch,
        });
      };
      for (const [index, id] of ids.entries()) {
        const assetUuid = assets[index]!.uuid;
        await store.sessions.open(sessionOf(assetUuid));
        const created = { ...deployment, id, assetUuid, lastSeq: 0, lastEvent: undefined };
        await createDeployment(store.deployments, created, { ...lastEvent!, deployment_id: id });
      }
      const failing = updateDeployment(store.deployments, "dep_1", () => {
        throw new Error("cannot decide");
      });
      const results = await Promise.allSettled([write("dep_1", 1), failing, write("dep_2", 9), write("dep_3", 1)]);
      expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
      expect(results[1]).toMatchObject({ reason: { message: "cannot decide" } });
      expect(results[2]).toMatchObject({ reason: new StaleSessionError({ assetUuid: assets[1]!.uuid, epoch: 9 }) });
      const stored = await Promise.all(ids.map((id) => store.deployments.findDeployment(id)));
      expect(stored.map((each) => [each?.version, each?.state])).toEqual([
        [2, acknowledged(T0 + 1)],
        [1, SENDING],
        [2, acknowledged(T0 + 1)],
      ]);
    });

    test("a report is stored for the device's session only", async () => {
      await using store = await openWithAccounts(harness);
      const { devices, sessions } = store;
      const { uuid: assetUuid } = await register(store, someAsset());
      await sessions.open(sessionOf(assetUuid));
      const first = { assetUuid, epoch: 1 };
      expect(await devices.replaceReport(assetUuid, undefined, report("a"), first)).toBe(true);
      await devices.recordHeld(assetUuid, 5, first);
      await sessions.open(sessionOf(assetUuid));
      await expect(devices.replaceReport(assetUuid, "a", report("b"), first)).rejects.toThrow(StaleSessionError);
      await expect(devices.recordHeld(assetUuid, undefined, first)).rejects.toThrow(StaleSessionError);
      expect((await devices.findReport(assetUuid))?.value.hash).toBe("a");
      expect(await devices.replaceReport(assetUuid, "a", report("b"), { assetUuid, epoch: 2 })).toBe(true);
    });

    test("begin with the hash of the stored report, of which nothing is held back any more", async () => {
      await using store = await openWithAccounts(harness);
      const { devices, sessions } = store;
      const { uuid: assetUuid } = await register(store, someAsset());
      const { uuid: other } = await register(store, someAsset());
      await sessions.open(sessionOf(assetUuid));
      for (const uuid of [assetUuid, other]) {
        await devices.replaceReport(uuid, undefined, report(`of ${uuid}`));
        await devices.recordHeld(uuid, 5);
      }
      expect((await sessions.open(sessionOf(assetUuid)))?.reportHash).toBe(`of ${assetUuid}`);
      expect((await devices.findReport(assetUuid))?.heldSince).toBeUndefined();
      expect((await devices.findReport(other))?.heldSince).toBe(5);
    });

    test("tell whether there is anything on record to compare with what the device holds", async () => {
      await using store = await openWithAccounts(harness);
      const { deployments, sessions } = store;
      const { uuid: assetUuid } = await register(store, someAsset());
      const { uuid: other } = await register(store, someAsset());
      const has = async () => (await sessions.open(sessionOf(assetUuid)))?.hasOpenDeployments;
      const create = async (id: string, fields: Partial<Deployment>) => {
        const { lastEvent, ...deployment } = receivedDeployment({ id, ...fields });
        const first = { ...lastEvent!, deployment_id: id };
        await createDeployment(deployments, { ...deployment, lastSeq: 0, lastEvent: undefined }, first);
      };
      const change = (fields: NonNullable<DeploymentChange["fields"]>) =>
        updateDeployment(deployments, "dep_1", () => ({ fields }));
      await create("dep_of_other", { assetUuid: other });
      expect(await has()).toBe(false);
      await create("dep_1", { assetUuid });
      expect(await has()).toBe(true);
      await change({ state: failed("DeploymentTimeout") });
      expect(await has()).toBe(false);
      await change({ state: failed("DeploymentTimeout", "undo") });
      expect(await has()).toBe(true);
      await change({ state: failed("DeploymentTimeout", "overdue") });
      expect(await has()).toBe(true);
      await change({ state: failed("DeploymentTimeout") });
      expect(await has()).toBe(false);
    });

    test("a new deployment is stored with both of its events if its device is still as it was decided for", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid: assetUuid } = await register(store, someAsset());
      const { lastEvent, ...deployment } = receivedDeployment({ assetUuid, finishDueMs: 5 });
      const create = (id: string) =>
        createDeployment(
          store.deployments,
          { ...deployment, id, lastSeq: 0, lastEvent: undefined },
          { ...lastEvent!, deployment_id: id },
          undefined,
          undefined,
          (stored) => (stored.holder === undefined ? fail(stored, T0, "DeviceNotReachable") : undefined),
        );
      expect(await create("dep_1")).toMatchObject({
        kind: "created",
        deployment: { version: 2, state: { status: "Fail" }, holder: undefined, lastSeq: 2 },
      });
      expect((await store.deployments.readEvents("dep_1", 0, 10)).events.map(({ seq }) => seq)).toEqual([1, 2]);
      await store.sessions.open(sessionOf(assetUuid));
      const created = await create("dep_2");
      expect(created).toMatchObject({ deployment: { version: 1, state: SENDING, holder: "ins_1", lastSeq: 1 } });
      const found = await store.deployments.findDeployment("dep_2");
      expect(found).toMatchObject({ state: SENDING, finishDueMs: 5, holder: "ins_1", lastEvent: { seq: 1 } });
      const updated = await updateDeployment(store.deployments, "dep_2", () => ({ fields: { lastDeviceSeq: 1 } }));
      expect(updated?.holder).toBe("ins_1");
      await store.sessions.close({ assetUuid, epoch: 1 }, 9, "lost");
      expect((await store.deployments.findDeployment("dep_2"))?.holder).toBeUndefined();
    });

    test("what waits for a device is listed for its session only, and by the instance that holds it", async () => {
      await using store = await openWithAccounts(harness);
      const { deployments, sessions } = store;
      const { uuid: assetUuid } = await register(store, someAsset());
      const { uuid: other } = await register(store, someAsset());
      const create = async (id: string, fields: Parameters<typeof receivedDeployment>[0]) => {
        const { lastEvent, ...deployment } = receivedDeployment({ assetUuid, id, ...fields });
        const first = { ...lastEvent!, deployment_id: id };
        await createDeployment(deployments, { ...deployment, lastSeq: 0, lastEvent: undefined }, first);
      };
      // The clock was set back in between.
      await create("dep_2", { createdAtMs: T0 + 2, hasRegistryAuth: true });
      await create("dep_1", { cancelRequestedAtMs: T0, createdAtMs: T0 + 1 });
      await create("dep_3", { state: acknowledged() });
      await create("dep_4", { assetUuid: other });
      expect(await deployments.listUndelivered(assetUuid)).toMatchObject([
        { id: "dep_2", hasRegistryAuth: true, state: { kind: "sending" } },
        { id: "dep_1", hasRegistryAuth: false, state: { kind: "sending" }, cancelRequestedAtMs: T0 },
      ]);
      await sessions.open(sessionOf(assetUuid));
      await sessions.open(sessionOf(other, { instanceId: "ins_2" }));
      expect(await deployments.listUndelivered(assetUuid, { assetUuid, epoch: 1 })).toHaveLength(2);
      const stale = deployments.listUndelivered(assetUuid, { assetUuid, epoch: 0 });
      await expect(stale).rejects.toThrow(StaleSessionError);
      expect(await deployments.listUndeliveredAssets("ins_1")).toEqual([assetUuid]);
      expect(await deployments.listUndeliveredAssets("ins_2")).toEqual([other]);
      expect(await deployments.listUndeliveredAssets("ins_2", assetUuid)).toEqual([other]);
      expect(await deployments.listUndeliveredAssets("ins_2", other)).toEqual([]);
      await updateDeployments(deployments, ["dep_1", "dep_2"], (current) => fail(current, T0, "AppNotFound"));
      expect(await deployments.listUndeliveredAssets("ins_1")).toEqual([]);
      expect(await deployments.listUndelivered(assetUuid, { assetUuid, epoch: 1 })).toEqual([]);
    });
  });
}
