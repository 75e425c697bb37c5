import { expect, test } from "vitest";
import type { Asset } from "../../../src/control-plane/core/asset.ts";
import { reasonsOf } from "../../../src/control-plane/core/attention.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { receivedDeployment } from "../../support/deployment-record.ts";
import {
  ACCOUNT,
  describeDomain,
  hash,
  openWithAccounts,
  register,
  SOME_TIME,
  someAsset,
  type StoreHarness,
} from "./harness.ts";
import { createDeployment } from "../../support/store-deployment.ts";

const code = (assetUuid: string) => ({ assetUuid, createdAt: 10, expiresAt: 100, usedAt: undefined, mayReplace: true });

const boot = (id: string) => ({ id, address: "192.0.2.1", since: 10 });

const connect = (store: Store, assetUuid: string) =>
  store.sessions.open({ assetUuid, sessionId: "s", instanceId: "ins_1", protocol: 4, agentVersion: "1", at: 15 });

async function stateOf(store: Store, { accountId, uuid }: Asset) {
  const found = await store.assets.findAssetWithState(accountId, uuid, SOME_TIME);
  if (!found) throw new Error(`there is no asset ${uuid}`);
  return { isAccepted: found.state.acceptedAt !== undefined, reasons: reasonsOf(found.state, SOME_TIME) };
}

/** Contract of stores for which device is an asset's, and whether it was accepted. */
export function acceptanceContract(harness: StoreHarness): void {
  describeDomain("acceptance", harness, () => {
    test("a code may replace a device in service only if it was made for that, and so may the token that it gave before", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const use = (name: string, token: string) =>
        store.enrolments.useCode({ hash: hash(name), nonceHash: hash("n"), at: 20, tokenHash: hash(token) });
      await store.enrolments.issueCode({ ...code(uuid), mayReplace: false }, hash("weak"));
      expect(await use("weak", "first")).toBe("used");
      expect(await store.assets.findDevice(hash(uuid))).toMatchObject({ isNextToken: false });
      expect(await store.assets.findDevice(hash("first"))).toMatchObject({ isNextToken: true });
      await connect(store, uuid);
      // The device with the other token was there first.
      expect(await store.assets.findDevice(hash("first"))).toBeUndefined();
      expect(await store.assets.replaceDeviceToken(uuid, hash("first"), 21_000)).toBe(false);
      // Also the one that was used: its device would come back as another one.
      expect(await use("weak", "again")).toBe("in_service");
      await store.enrolments.issueCode({ ...code(uuid), mayReplace: false }, hash("weak too"));
      expect(await use("weak too", "other")).toBe("in_service");
      await store.enrolments.issueCode(code(uuid), hash("strong"));
      expect(await use("strong", "second")).toBe("used");
      expect(await store.assets.findDevice(hash(uuid))).toMatchObject({ isNextToken: false });
      expect(await store.assets.findDevice(hash("second"))).toMatchObject({ isNextToken: true });
      expect(await store.assets.findDevice(hash("other"))).toBeUndefined();
    });

    test("the boots of a device are stored unless somebody was faster, and a clone is an attention until the token is another", async () => {
      await using store = await openWithAccounts(harness);
      const asset = someAsset();
      const { uuid } = await register(store, asset);
      const bootsOf = async (token: string) => (await store.assets.findDevice(hash(token)))?.boots;
      expect(await bootsOf(uuid)).toBeUndefined();
      const first = { current: boot("a") };
      expect(await store.assets.saveBoots(uuid, undefined, first)).toBe(true);
      expect(await store.assets.saveBoots(uuid, undefined, { current: boot("z") })).toBe(false);
      expect(await bootsOf(uuid)).toEqual(first);
      expect((await stateOf(store, asset)).reasons).toEqual([]);
      const cloned = { current: boot("a"), clone: { contender: boot("b"), seenAt: 11, lastAt: 12, refusals: 0 } };
      expect(await store.assets.saveBoots(uuid, first, cloned)).toBe(true);
      expect((await stateOf(store, asset)).reasons).toEqual(["cloned_identity"]);
      expect((await store.assets.findAssetWithState(asset.accountId, uuid, SOME_TIME))?.state.boots).toEqual(cloned);
      expect(await store.assets.saveBoots(uuid, cloned, first)).toBe(true);
      expect((await stateOf(store, asset)).reasons).toEqual([]);
      expect(await store.assets.saveBoots(uuid, first, cloned)).toBe(true);
      await store.enrolments.issueCode(code(uuid), hash("code"));
      const use = { hash: hash("code"), nonceHash: hash("n"), at: 20, tokenHash: hash("next") };
      expect(await store.enrolments.useCode(use)).toBe("used");
      expect(await store.assets.replaceDeviceToken(uuid, hash("next"), 21_000)).toBe(true);
      expect(await bootsOf("next")).toBeUndefined();
      expect((await stateOf(store, asset)).reasons).not.toContain("cloned_identity");
    });

    test("a device is accepted until another one is enrolled, and the account may accept by itself", async () => {
      await using store = await openWithAccounts(harness);
      const accepted = someAsset();
      const { uuid } = await register(store, accepted);
      const waiting = someAsset();
      await store.assets.registerAsset(waiting, hash("waiting"));
      expect(await stateOf(store, accepted)).toEqual({ isAccepted: true, reasons: [] });
      expect(await stateOf(store, waiting)).toEqual({ isAccepted: false, reasons: [] });
      await connect(store, uuid);
      await connect(store, waiting.uuid);
      expect(await stateOf(store, accepted)).toEqual({ isAccepted: true, reasons: [] });
      expect(await stateOf(store, waiting)).toEqual({ isAccepted: false, reasons: ["acceptance"] });
      const list = async (isAccepted: boolean) => {
        const filter = { status: undefined, type: undefined, text: undefined, accepted: isAccepted };
        const { assets: page } = await store.assets.listAssets(ACCOUNT, filter, 10, undefined, SOME_TIME);
        return page.map(({ asset }) => asset.uuid);
      };
      expect([await list(true), await list(false)]).toEqual([[uuid], [waiting.uuid]]);

      const accept = (id: string) => store.enrolments.acceptDevice(id, 30, someAudit("asset.accepted"));
      expect([await accept(waiting.uuid), await accept(waiting.uuid), await accept("none")]).toEqual([
        true,
        false,
        undefined,
      ]);
      expect(await stateOf(store, waiting)).toEqual({ isAccepted: true, reasons: [] });

      const replace = async (id: string, name: string) => {
        await store.enrolments.issueCode(code(id), hash(name));
        const use = { hash: hash(name), nonceHash: hash("n"), at: 20, tokenHash: hash(`token ${name}`) };
        expect(await store.enrolments.useCode(use)).toBe("used");
        // Nothing is replaced before the new device connects.
        expect(await store.assets.replaceDeviceToken(id, hash("wrong"), 40_000)).toBe(false);
        return store.assets.replaceDeviceToken(id, hash(`token ${name}`), 40_000, someAudit("device.replaced"));
      };
      expect(await replace(uuid, "one")).toBe(true);
      expect(await stateOf(store, accepted)).toEqual({ isAccepted: false, reasons: ["device_replaced", "acceptance"] });
      expect(await accept(uuid)).toBe(true);
      expect(await stateOf(store, accepted)).toEqual({ isAccepted: true, reasons: [] });
      const { events } = await store.accountEvents.read(ACCOUNT, 0, 100);
      expect(events.map(({ event }) => event).filter(({ type }) => /replaced|accepted/.test(type))).toEqual([
        { type: "asset.accepted", asset_id: waiting.uuid, attention: [] },
        { type: "device.replaced", asset_id: uuid, attention: ["device_replaced", "acceptance"] },
        { type: "asset.accepted", asset_id: uuid, attention: [] },
      ]);

      expect(await store.enrolments.readAutoAccept(ACCOUNT)).toBe(false);
      await store.enrolments.setAutoAccept(ACCOUNT, true, someAudit("settings.changed"));
      expect(await store.enrolments.readAutoAccept(ACCOUNT)).toBe(true);
      expect(await replace(uuid, "two")).toBe(true);
      expect(await stateOf(store, accepted)).toEqual({ isAccepted: true, reasons: [] });
      const later = someAsset();
      await store.assets.registerAsset(later, hash("later"));
      expect(await stateOf(store, later)).toEqual({ isAccepted: true, reasons: [] });
    });

    test("a code of somebody who may not accept withdraws an acceptance that was given in advance", async () => {
      await using store = await openWithAccounts(harness);
      const asset = someAsset();
      const { uuid } = await register(store, asset);
      const enrol = async (name: string, mayReplace: boolean) => {
        await store.enrolments.issueCode({ ...code(uuid), mayReplace }, hash(name));
        await store.enrolments.useCode({ hash: hash(name), nonceHash: hash("n"), at: 20, tokenHash: hash(name) });
        return (await stateOf(store, asset)).isAccepted;
      };
      expect(await enrol("of an operator", true)).toBe(true);
      expect(await enrol("of an installer", false)).toBe(false);
      expect(await store.assets.isAccepted(uuid)).toBe(false);
    });

    test("while a device waits for acceptance, it is not sent what is a fleet's, or was for the device before", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const undelivered = async () => (await store.deployments.listUndelivered(uuid)).map(({ id }) => id);
      const assets = () => store.deployments.listUndeliveredAssets("ins_1");
      const add = async (id: string, createdAtMs: number, key?: string) => {
        const fields = { id, assetUuid: uuid, accountId: ACCOUNT, createdAtMs } as const;
        const { lastEvent, ...deployment } = receivedDeployment(fields);
        const first = { ...lastEvent!, deployment_id: id };
        const idempotency = key === undefined ? undefined : { key, requestHash: hash(key) };
        await createDeployment(
          store.deployments,
          { ...deployment, lastSeq: 0, lastEvent: undefined },
          first,
          idempotency,
        );
      };
      await add("dep_before", 30_000);
      await add("dep_fleet_before", 30_000, " rollout:rol_1:x:forward:1");
      expect(await undelivered()).toEqual(["dep_before", "dep_fleet_before"]);
      await connect(store, uuid);
      await store.enrolments.issueCode(code(uuid), hash("code"));
      await store.enrolments.useCode({ hash: hash("code"), nonceHash: hash("n"), at: 20, tokenHash: hash("next") });
      expect(await undelivered()).toEqual(["dep_before", "dep_fleet_before"]);
      expect(await assets()).toEqual([uuid]);
      await store.assets.replaceDeviceToken(uuid, hash("next"), 40_000);
      // A sweep would wake its session for nothing, and leave out others for it.
      expect(await assets()).toEqual([]);
      await add("dep_after", 50_000);
      await add("dep_fleet_after", 50_000, " rollout:rol_2:x:forward:1");
      expect(await undelivered()).toEqual(["dep_after"]);
      expect(await assets()).toEqual([uuid]);
      await store.enrolments.acceptDevice(uuid, 60, someAudit("asset.accepted"));
      expect(await undelivered()).toEqual(["dep_before", "dep_fleet_before", "dep_after", "dep_fleet_after"]);
    });
  });
}
