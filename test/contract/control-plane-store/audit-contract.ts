import { expect, test } from "vitest";
import { actionsNamed, type AuditAction } from "../../../src/control-plane/core/people/audit-actions.ts";
import type { AuditEntry, AuditFilter, StoredAuditEntry } from "../../../src/control-plane/store/audit.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { acknowledged, receivedDeployment } from "../../support/deployment-record.ts";
import { ACCOUNT, describeDomain, hash, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";
import { createDeployment, updateDeployment } from "../../support/store-deployment.ts";

const ACTIONS: readonly AuditAction[] = ["key.created", "key.revoked", "asset.changed", "deployment.requested"];
const OUTCOMES = ["ok", "ok", "ok", "Forbidden", "KeyNotFound"];

/** Entries of every combination, some at the same second. */
function manyEntries(count: number): AuditEntry[] {
  return Array.from({ length: count }, (_, index) => ({
    ...someAudit(ACTIONS[index % ACTIONS.length]!, index % 7 === 0 ? "acc_2" : ACCOUNT),
    at: 1_000 + Math.floor(index / 3),
    actor: { kind: "user", id: `usr_${index % 3}`, name: "Jane" },
    source: index % 2 === 0 ? "192.0.2.1" : undefined,
    assetUuid: index % 5 === 0 ? "" : `asset ${index % 4}`,
    outcome: OUTCOMES[index % OUTCOMES.length]!,
  }));
}

function matches(entry: AuditEntry, { actorId, actions, assetUuid, since, until, outcome }: AuditFilter): boolean {
  return (
    (actorId ?? entry.actor.id) === entry.actor.id &&
    (actions ?? [entry.action]).includes(entry.action) &&
    (assetUuid ?? entry.assetUuid) === entry.assetUuid &&
    entry.at >= (since ?? 0) &&
    entry.at < (until ?? Infinity) &&
    (outcome === "failed" ? entry.outcome !== "ok" : (outcome ?? entry.outcome) === entry.outcome)
  );
}

async function readAll(store: Store, filter: AuditFilter, limit: number): Promise<StoredAuditEntry[]> {
  const found: StoredAuditEntry[] = [];
  for (;;) {
    const last = found.at(-1);
    const page = await store.audit.listEntries(ACCOUNT, limit, filter, last);
    found.push(...page);
    if (page.length < limit) return found;
  }
}

/** Each of these criteria, and none. */
const orNone = <T>(...values: readonly T[]): readonly (T | undefined)[] => [undefined, ...values];

const actionsOf = async (store: Store, accountId = ACCOUNT): Promise<string[]> =>
  (await store.audit.listEntries(accountId, 100)).map(({ action }) => action);

/** Contract of stores for the audit log. */
export function auditContract(harness: StoreHarness): void {
  describeDomain("audit log", harness, () => {
    test("an entry is stored as it is, without what is no fact of its action", async () => {
      await using store = await openWithAccounts(harness);
      const entry: AuditEntry = {
        ...someAudit("key.created"),
        source: "2001:db8::1",
        app: "web\0\ud800",
        details: { role: "viewer", api_key: "ek_secret", permissions: ["apps.exec"], expires_at: 7, nested: { a: 1 } },
      };
      const id = await store.audit.addEntry(entry);
      const stored = { ...entry, id, app: "web\uFFFD\uFFFD" };
      const details = { role: "viewer", permissions: ["apps.exec"], expires_at: 7 };
      expect(await store.audit.listEntries(ACCOUNT, 10)).toEqual([{ ...stored, details }]);
      await store.audit.setCount(id, entry, 12);
      expect((await store.audit.listEntries(ACCOUNT, 10))[0]?.details).toEqual({ ...details, count: 12 });
      expect(await store.audit.listEntries("acc_2", 10)).toEqual([]);
    });

    test("lists are filtered by any combination, newest first, and their pages neither overlap nor skip", async () => {
      await using store = await openWithAccounts(harness);
      const entries = manyEntries(120);
      for (const entry of entries) await store.audit.addEntry(entry);
      const own = entries.filter(({ accountId }) => accountId === ACCOUNT).toReversed();
      for (const actorId of orNone("usr_1"))
        for (const actions of orNone<readonly AuditAction[]>(["key.created"], actionsNamed("key."), []))
          for (const assetUuid of orNone("asset 1"))
            for (const [since, until] of [
              [undefined, undefined],
              [1_010, undefined],
              [1_005, 1_030],
            ])
              for (const outcome of orNone("ok", "failed", "Forbidden")) {
                const filter: AuditFilter = { actorId, actions, assetUuid, since, until, outcome };
                const expected = own.filter((entry) => matches(entry, filter));
                const found = await readAll(store, filter, 7);
                expect(
                  found.map(({ id: _id, ...entry }) => entry),
                  JSON.stringify(filter),
                ).toEqual(expected);
              }
      const ids = (await readAll(store, {}, 100)).map(({ id }) => id);
      expect(ids).toEqual(ids.toSorted((a, b) => b - a));
      for (const filter of [{ actorId: "\0" }, { assetUuid: "a\0" }, { outcome: "\0" }])
        expect(await store.audit.listEntries(ACCOUNT, 10, filter)).toEqual([]);
    });

    test("entries that come in between do not move those of the next page", async () => {
      await using store = await openWithAccounts(harness);
      for (let at = 1; at <= 6; at++) await store.audit.addEntry({ ...someAudit("key.created"), at });
      const first = await store.audit.listEntries(ACCOUNT, 3);
      await store.audit.addEntry({ ...someAudit("key.created"), at: 99 });
      const second = await store.audit.listEntries(ACCOUNT, 3, {}, first.at(-1));
      expect([...first, ...second].map(({ at }) => at)).toEqual([6, 5, 4, 3, 2, 1]);
    });

    test("old entries are removed in slices, oldest first, of all accounts", async () => {
      await using store = await openWithAccounts(harness);
      for (let at = 1; at <= 5; at++)
        await store.audit.addEntry({ ...someAudit("key.created", at % 2 === 0 ? ACCOUNT : "acc_2"), at });
      expect(await store.audit.removeOld(4, 2)).toBe(2);
      expect(await store.audit.removeOld(4, 2)).toBe(1);
      expect(await store.audit.removeOld(4, 2)).toBe(0);
      expect((await store.audit.listEntries(ACCOUNT, 10)).map(({ at }) => at)).toEqual([4]);
      expect((await store.audit.listEntries("acc_2", 10)).map(({ at }) => at)).toEqual([5]);
    });

    test("each change has its entry, and what changes nothing has none", async () => {
      await using store = await openWithAccounts(harness);
      await store.accounts.createAccount(
        { id: "acc_3", name: "c", createdAt: 1 },
        someAudit("account.created", "acc_3"),
      );
      expect(await actionsOf(store, "acc_3")).toEqual(["account.created"]);
      const key = {
        id: "key_1",
        accountId: ACCOUNT,
        name: "k",
        createdAt: 1,
        lastUsedAt: undefined,
        revokedAt: undefined,
        permissions: [],
        role: "admin",
        expiresAt: undefined,
        createdBy: undefined,
      } as const;
      await store.keys.createKey(key, hash("k"), someAudit("key.created"));
      for (const at of [1, 2]) expect(await store.keys.revokeKey("key_1", at, someAudit("key.revoked"))).toBe(true);
      expect(await store.keys.revokeKey("key_none", 1, someAudit("key.revoked"))).toBe(false);
      for (let time = 0; time < 2; time++)
        await store.networkGroups.addNetworkGroup(ACCOUNT, "own", someAudit("network_group.added"));
      const asset = someAsset({ supersim: someSuperSim() });
      expect(await store.assets.registerAsset(asset, hash("t"), someAudit("asset.registered"))).toEqual({ ok: true });
      const same = someAsset({ serialNumber: asset.serialNumber });
      expect(await store.assets.registerAsset(same, hash("u"), someAudit("asset.registered"))).toMatchObject({
        ok: false,
      });
      await store.assets.describeAsset(asset.uuid, { name: "New" }, someAudit("asset.changed"));
      await store.assets.describeAsset("none", { name: "New" }, someAudit("asset.changed"));
      const state = { status: "inactive", networkGroup: "own" } as const;
      await store.sims.setSimState(asset.uuid, "supersim", state, someAudit("asset.changed"));
      await store.sims.setSimState(asset.uuid, "prosim", state, someAudit("asset.changed"));
      const code = { assetUuid: asset.uuid, createdAt: 1, expiresAt: 100, usedAt: undefined, mayReplace: true };
      await store.enrolments.issueCode(code, hash("c"), someAudit("enrolment_code.created"));
      const use = { hash: hash("c"), at: 5, tokenHash: hash("n"), audit: someAudit("device.enrolled") };
      expect(await store.enrolments.useCode({ ...use, nonceHash: hash("1") })).toBe("used");
      expect(await store.enrolments.useCode({ ...use, nonceHash: hash("2") })).toBe("used_before");
      await store.assets.removeAsset(asset.uuid, someAudit("asset.removed"));
      await store.assets.removeAsset(asset.uuid, someAudit("asset.removed"));
      expect((await actionsOf(store)).toReversed()).toEqual([
        "key.created",
        "key.revoked",
        "network_group.added",
        "asset.registered",
        "asset.changed",
        "asset.changed",
        "enrolment_code.created",
        "device.enrolled",
        "asset.removed",
      ]);
    });

    test("a change that fails leaves no entry", async () => {
      await using store = await openWithAccounts(harness);
      const account = { id: ACCOUNT, name: "again", createdAt: 1 };
      await expect(store.accounts.createAccount(account, someAudit("account.created"))).rejects.toThrow();
      await expect(
        store.networkGroups.addNetworkGroup("acc_none", "own", someAudit("network_group.added", "acc_none")),
      ).rejects.toThrow();
      expect(await actionsOf(store)).toEqual([]);
      expect(await actionsOf(store, "acc_none")).toEqual([]);
    });

    test("a deployment has its entry, a repeated, refused or unchanged one has none", async () => {
      await using store = await openWithAccounts(harness);
      const { uuid } = await register(store, someAsset());
      const create = (id: string, key: string, request: string, maxRunningPerAsset = 10) => {
        const { lastEvent, ...deployment } = receivedDeployment({ id, accountId: ACCOUNT, assetUuid: uuid });
        return createDeployment(
          store.deployments,
          { ...deployment, lastEvent: undefined, lastSeq: 0 },
          { ...lastEvent!, deployment_id: id },
          { key, requestHash: hash(request) },
          { maxAccountBytes: 1_000_000, maxRunningPerAsset },
          undefined,
          { ...someAudit("deployment.requested"), assetUuid: uuid, details: { action: "deploy" } },
        );
      };
      const kinds = await Promise.all([
        create("dep_1", "a", "x"),
        create("dep_2", "a", "x"),
        create("dep_3", "b", "y"),
      ]);
      expect(kinds.map(({ kind }) => kind).toSorted()).toEqual(["created", "created", "repeated"]);
      expect(await create("dep_4", "a", "other")).toMatchObject({ kind: "conflict" });
      expect(await create("dep_5", "c", "z", 1)).toMatchObject({ kind: "too_many_running" });
      expect(await actionsOf(store)).toEqual(["deployment.requested", "deployment.requested"]);
      const cancelled = someAudit("deployment.cancelled");
      const update = (id: string, acknowledgedAtMs: number | undefined) =>
        updateDeployment(
          store.deployments,
          id,
          () => (acknowledgedAtMs === undefined ? undefined : { fields: { state: acknowledged(acknowledgedAtMs) } }),
          undefined,
          { ...cancelled, details: { had_ended: false } },
        );
      await update("dep_none", 1);
      await update("dep_3", undefined);
      expect(await actionsOf(store)).toHaveLength(2);
      await Promise.all([update("dep_3", 1), update("dep_3", 2), update("dep_3", undefined)]);
      expect(
        (await store.audit.listEntries(ACCOUNT, 10, { outcome: "ok", actions: ["deployment.cancelled"] })).length,
      ).toBe(2);
      expect((await store.audit.listEntries(ACCOUNT, 10)).at(-1)).toMatchObject({
        assetUuid: uuid,
        details: { action: "deploy" },
      });
    });
  });
}
