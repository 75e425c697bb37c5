import { maskCommand } from "../../../src/control-plane/core/mask-spec.ts";
import { expect, test } from "vitest";
import { type Deployment, isFinished } from "../../../src/control-plane/core/deployment.ts";
import { appendEvent } from "../../../src/control-plane/core/event-log.ts";
import { toTransition } from "../../../src/control-plane/core/next.ts";
import { acknowledge, fail } from "../../../src/control-plane/core/transitions.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import {
  acknowledged,
  commandOf,
  failed,
  receivedDeployment,
  SENDING,
  T0,
  uncertain,
} from "../../support/deployment-record.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { describeDomain, hash, openWithAccounts, type StoreHarness } from "./harness.ts";
import { createDeployment, updateDeployment } from "../../support/store-deployment.ts";

/** Stores the deployment with its first event, and returns its record. */
async function create(store: Store, fields: Partial<Deployment> = {}): Promise<Deployment> {
  const { lastEvent, ...deployment } = receivedDeployment(fields);
  if (!lastEvent) throw new Error("a received deployment has had an event");
  const first = { ...lastEvent, deployment_id: deployment.id };
  await createDeployment(store.deployments, { ...deployment, lastSeq: 0, lastEvent: undefined }, first);
  const found = await store.deployments.findDeployment(deployment.id);
  if (!found) throw new Error("it was not stored");
  return found;
}

const say = (store: Store, id: string, message: string) =>
  updateDeployment(store.deployments, id, (current) =>
    appendEvent(current, { status: "Running", message, step: "pulling" }, T0),
  );

const end = (store: Store, id: string, at: number) =>
  updateDeployment(store.deployments, id, (current) => fail(current, at, "DeploymentTimeout"));

const isRetried = (code: string): boolean => code === "DeploymentTimeout";

/** Contract of stores for deployments. */
export function deploymentsContract(harness: StoreHarness): void {
  describeDomain("deployments", harness, () => {
    test("the last event of several is known at once", async () => {
      await using store = await openWithAccounts(harness);
      await create(store, { id: "dep_1" });
      await create(store, { id: "dep_2" });
      await say(store, "dep_2", "x");
      const seqs = await store.deployments.findLastSeqs(["dep_2", "dep_1", "dep_9", "dep_1"]);
      expect(seqs).toEqual(
        new Map([
          ["dep_1", 1],
          ["dep_2", 2],
        ]),
      );
      expect(await store.deployments.findLastSeqs([])).toEqual(new Map());
    });

    test("one takes over the key of one that has failed, of several at once exactly one", async () => {
      await using store = await openWithAccounts(harness);
      const request = (id: string, retries = true) => {
        const { lastEvent, ...deployment } = receivedDeployment({ id });
        const fields = { ...deployment, lastSeq: 0, lastEvent: undefined };
        const idempotency = { key: "key", requestHash: hash("request"), ...(retries && { isRetried }) };
        return createDeployment(store.deployments, fields, { ...lastEvent!, deployment_id: id }, idempotency);
      };
      expect(await request("dep_1")).toMatchObject({ kind: "created" });
      expect(await request("dep_2")).toEqual({ kind: "repeated", id: "dep_1" });
      await end(store, "dep_1", T0 + 1);
      expect(await request("dep_3", false)).toEqual({ kind: "repeated", id: "dep_1" });
      const results = await Promise.all(["dep_4", "dep_5", "dep_6"].map((id) => request(id)));
      const repeated = results.filter(({ kind }) => kind === "repeated");
      expect(results.filter(({ kind }) => kind === "created")).toHaveLength(1);
      expect(new Set(repeated.map((result) => "id" in result && result.id)).size).toBe(1);
      expect(repeated).toHaveLength(2);
      expect(await store.deployments.findDeployment("dep_1")).toMatchObject({ state: { status: "Fail" } });
    });

    test("are read as they were stored, with every field", async () => {
      await using store = await openWithAccounts(harness);
      const waitUntilMs = T0 + 9;
      const created = await create(store, { options: { urgent: true }, hasRegistryAuth: true, waitUntilMs });
      const { accountStoredBytes } = created;
      expect(created).toEqual(
        receivedDeployment({
          options: { urgent: true },
          hasRegistryAuth: true,
          waitUntilMs,
          accountStoredBytes: accountStoredBytes,
        }),
      );
      expect(accountStoredBytes).toBeGreaterThan(created.eventBytes);
      const changed = await updateDeployment(store.deployments, created.id, (current) => ({
        ...appendEvent(current, { status: "Running", message: "x", step: "pulling" }, T0),
        fields: {
          state: uncertain("restored", { kind: "waiting", sendingSinceMs: T0 + 8 }),
          cancelRequestedAtMs: T0 + 2,
          deadlineAtMs: T0 + 3,
          lastDeviceSeq: 4,
          connection: { epoch: 3, isLost: true },
          finishDueMs: T0 + 6,
          replyDueMs: T0 + 7,
          command: commandOf("deploy", null),
        },
      }));
      // The size of the whole account is read with the deployment, but not written with it.
      const found = await store.deployments.findDeployment(created.id);
      expect({ ...found, accountStoredBytes: accountStoredBytes }).toEqual({
        ...changed,
        accountStoredBytes: accountStoredBytes,
      });
      expect(found?.eventBytes).toBeGreaterThan(created.eventBytes);
      expect(changed).toMatchObject({
        version: 2,
        lastSeq: 2,
        connection: { epoch: 3, isLost: true },
        state: { uncertainty: "restored" },
        command: { spec: null },
      });
      expect(await store.deployments.findDeployment("dep_none")).toBeUndefined();
    });

    test("those that ended with an uncertain outcome are listed by asset, oldest first, up to a limit", async () => {
      await using store = await openWithAccounts(harness);
      const list = ["asked", "overdue", "asked", "restored", "backup", undefined] as const;
      for (const [index, uncertainty] of list.entries()) {
        const { id } = await create(store, { id: `dep_${index}`, createdAtMs: T0 + index });
        await updateDeployment(store.deployments, id, () => ({
          fields: { state: uncertainty ? uncertain(uncertainty) : SENDING },
        }));
        if (index !== 2) await end(store, id, T0 + 10);
      }
      const { assetUuid } = receivedDeployment();
      const ids = async (asset: string, limit: number) =>
        (await store.deployments.listEndedUncertain(asset, limit)).map(({ id }) => id);
      expect(await ids(assetUuid, 10)).toEqual(["dep_0", "dep_1"]);
      expect(await ids(assetUuid, 1)).toEqual(["dep_0"]);
      expect(await ids("11111111-1111-4111-8111-000000000000", 10)).toEqual([]);
    });

    test("a summary has the same values as the deployment", async () => {
      await using store = await openWithAccounts(harness);
      const full = await create(store, { options: { urgent: true } });
      const { id, assetUuid } = full;
      const summary = await store.deployments.findSummary(id);
      expect(full).toMatchObject(summary!);
      expect(summary).toMatchObject({ id, assetUuid, state: SENDING });
      expect(await store.deployments.listUnfinishedSummaries(assetUuid)).toEqual([summary]);
      const state = failed("DeploymentTimeout", "restored", acknowledged(T0 + 1));
      await updateDeployment(store.deployments, id, (current) => ({
        ...fail(current, T0, "DeploymentTimeout"),
        fields: { state, cancelRequestedAtMs: T0 + 2 },
      }));
      const ended = await store.deployments.findSummary(id);
      expect(await store.deployments.findDeployment(id)).toMatchObject(ended!);
      expect(ended).toMatchObject({ state, cancelRequestedAtMs: T0 + 2 });
      expect(await store.deployments.listUnfinishedSummaries(assetUuid)).toEqual([]);
      expect(await store.deployments.findSummary("dep_none")).toBeUndefined();
    });

    test("a change of other fields keeps the specification", async () => {
      await using store = await openWithAccounts(harness);
      const { id, command } = await create(store, { command: commandOf("deploy", { name: "web", image: "web:1" }) });
      await say(store, id, "x");
      expect(await store.deployments.findDeployment(id)).toMatchObject({ command });
      await updateDeployment(store.deployments, id, (current) => ({
        fields: { command: maskCommand(current.command) },
      }));
      await say(store, id, "y");
      expect(await store.deployments.findDeployment(id)).toMatchObject({
        command: commandOf("deploy", { name: "web", image: "web:1" }),
      });
    });

    test("one that exceeds the limits is refused, and nothing of it is stored", async () => {
      await using store = await openWithAccounts(harness);
      const first = await create(store);
      const bounds = { maxAccountBytes: 1_000_000, maxRunningPerAsset: 1 };
      const { lastEvent, ...other } = receivedDeployment({ id: "dep_2" });
      const unsent = { ...other, lastSeq: 0, lastEvent: undefined };
      const again = (bound: Partial<typeof bounds>) =>
        createDeployment(store.deployments, unsent, { ...lastEvent!, deployment_id: "dep_2" }, undefined, {
          ...bounds,
          ...bound,
        });
      expect(await again({ maxRunningPerAsset: 1 })).toEqual({ kind: "too_many_running" });
      const full = await again({ maxRunningPerAsset: 2, maxAccountBytes: first.accountStoredBytes });
      expect(full).toEqual({ kind: "quota_exceeded", usedBytes: first.accountStoredBytes });
      expect(await store.deployments.findDeployment("dep_2")).toBeUndefined();
      expect(await again({ maxRunningPerAsset: 2 })).toMatchObject({ kind: "created" });
    });

    test("each change increments the version, and nothing else does", async () => {
      await using store = await openWithAccounts(harness);
      const { id, version } = await create(store);
      expect(version).toBe(1);
      expect(await updateDeployment(store.deployments, id, () => undefined)).toMatchObject({ version: 1 });
      expect(await updateDeployment(store.deployments, id, (current) => acknowledge(current, T0, 1))).toMatchObject({
        version: 2,
      });
      expect(await say(store, id, "x")).toMatchObject({ version: 3 });
      expect(await updateDeployment(store.deployments, "dep_none", () => ({ fields: {} }))).toBeUndefined();
    });

    test("concurrent changes are serialized: events are numbered without duplicates or gaps", async () => {
      await using store = await openWithAccounts(harness);
      const { id } = await create(store);
      const results = await Promise.all(Array.from({ length: 30 }, (_, index) => say(store, id, `${index}`)));
      const versions = results.map((result) => result?.version ?? 0).toSorted((a, b) => a - b);
      expect(versions).toEqual(Array.from({ length: 30 }, (_, index) => index + 2));
      const { events } = await store.deployments.readEvents(id, 0, 100);
      expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 31 }, (_, index) => index + 1));
      for (const { seq, json } of events) expect(JSON.parse(json)).toMatchObject({ seq, deployment_id: id });
      expect((await store.deployments.readEvents(id, 29, 1)).events.map(({ seq }) => seq)).toEqual([30]);
    });

    test("of several concurrent final events one is stored, and nothing after it", async () => {
      await using store = await openWithAccounts(harness);
      const { id } = await create(store);
      const ends = Array.from({ length: 6 }, (_, index) => end(store, id, T0 + index));
      await Promise.all([...ends, say(store, id, "late"), say(store, id, "later")]);
      const record = await store.deployments.findDeployment(id);
      const events = (await store.deployments.readEvents(id, 0, 100)).events.map(({ json }) => JSON.parse(json));
      expect(events.filter(({ status }) => status !== "Running")).toEqual([events.at(-1)]);
      expect(record).toMatchObject({ state: { status: "Fail" }, lastSeq: events.length, version: events.length });
    });

    test("a change of a record that is not at its version any more is not stored, nor is anything of it", async () => {
      await using store = await openWithAccounts(harness);
      const before = await create(store);
      const outdated = toTransition(before, fail(before, T0, "DeploymentTimeout")!);
      const after = await say(store, before.id, "meanwhile");
      const audit = someAudit("deployment.cancelled", before.accountId);
      expect(await store.deployments.updateDeployment({ ...outdated, audit })).toBe(false);
      expect(await store.deployments.findDeployment(before.id)).toMatchObject({
        version: after?.version,
        state: SENDING,
      });
      expect((await store.deployments.readEvents(before.id, 0, 10)).events).toHaveLength(2);
      expect(await store.audit.listEntries(before.accountId, 10)).toEqual([]);
      const gone = { ...before, id: "dep_none" };
      expect(await store.deployments.updateDeployment({ ...outdated, before: gone, after: gone })).toBe(false);
    });

    test("a new deployment for which another holder of its device's session was assumed is not stored", async () => {
      await using store = await openWithAccounts(harness);
      const { lastEvent, ...deployment } = receivedDeployment({ holder: "ins_9" });
      const after = { ...deployment, lastEvent };
      const events = [{ seq: 1, json: JSON.stringify(lastEvent) }];
      const creation = { after, events, specBytes: 10 };
      expect(await store.deployments.createDeployment(creation)).toEqual({ kind: "holder_changed", holder: undefined });
      expect(await store.deployments.findDeployment(after.id)).toBeUndefined();
      const decided = { ...creation, after: { ...after, holder: await store.deployments.findHolder(after.assetUuid) } };
      expect(await store.deployments.createDeployment(decided)).toEqual({ kind: "created" });
    });

    test("concurrent requests with one key create one deployment", async () => {
      await using store = await openWithAccounts(harness);
      const { lastEvent, ...deployment } = receivedDeployment();
      if (!lastEvent) throw new Error("a received deployment has had an event");
      const request = (id: string, text: string) =>
        createDeployment(
          store.deployments,
          { ...deployment, id, lastSeq: 0, lastEvent: undefined },
          { ...lastEvent, deployment_id: id },
          { key: "once", requestHash: hash(text) },
        );
      const ids = ["dep_a", "dep_b", "dep_c", "dep_d"];
      const results = await Promise.all(ids.map((id) => request(id, "same")));
      const made = ids[results.findIndex(({ kind }) => kind === "created")];
      expect(results.filter(({ kind }) => kind === "created")).toHaveLength(1);
      expect(results.filter(({ kind }) => kind !== "created")).toEqual(
        Array.from({ length: 3 }, () => ({ kind: "repeated", id: made })),
      );
      expect(await request("dep_e", "other")).toEqual({ kind: "conflict", id: made });
      expect(await store.deployments.listUnfinished()).toHaveLength(1);
    });

    test("are listed newest first and page by page, the unfinished oldest first", async () => {
      await using store = await openWithAccounts(harness);
      const { assetUuid } = receivedDeployment();
      for (let index = 0; index < 5; index++) {
        await create(store, { id: `dep_${index}`, createdAtMs: T0 + Math.floor(index / 2) });
      }
      await create(store, { id: "dep_other", assetUuid: "22222222-2222-4222-8222-222222222222" });
      await end(store, "dep_3", T0 + 9);
      const first = await store.deployments.listDeployments(assetUuid, 3);
      const second = await store.deployments.listDeployments(assetUuid, 3, first.next);
      expect([...first.deployments, ...second.deployments].map(({ id }) => id)).toEqual(
        [4, 3, 2, 1, 0].map((index) => `dep_${index}`),
      );
      expect(second.next).toBeUndefined();
      const unfinished = await store.deployments.listUnfinished(assetUuid);
      expect(unfinished.map(({ id }) => id)).toEqual(["dep_0", "dep_1", "dep_2", "dep_4"]);
      expect(unfinished.some(isFinished)).toBe(false);
      expect(await store.deployments.listUnfinished()).toHaveLength(5);
    });

    test("several are changed in one transaction: those that are as they were read, or none if one fails", async () => {
      await using store = await openWithAccounts(harness);
      const ids = ["dep_0", "dep_1", "dep_2"];
      const created: Deployment[] = [];
      for (const id of ids) created.push(await create(store, { id }));
      await say(store, "dep_1", "meanwhile");
      const steps = created.map((before) => toTransition(before, { fields: { lastDeviceSeq: 5 } }));
      expect(await store.deployments.updateDeployments(steps)).toEqual(new Set(["dep_0", "dep_2"]));
      const seqs = async () => (await store.deployments.listUnfinished()).map(({ lastDeviceSeq }) => lastDeviceSeq);
      expect(await seqs()).toEqual([5, 0, 5]);
      const changes = (await store.deployments.listUnfinished()).map((before) =>
        toTransition(before, { fields: { lastDeviceSeq: before.id === "dep_2" ? Number.NaN : 9 } }),
      );
      await expect(store.deployments.updateDeployments(changes)).rejects.toThrow();
      expect(await seqs()).toEqual([5, 0, 5]);
      expect(await store.deployments.updateDeployments([])).toEqual(new Set());
    });

    test("those with a deadline that has passed are listed, the earliest first", async () => {
      await using store = await openWithAccounts(harness);
      const { deployments } = store;
      expect(await deployments.findNextDue()).toBeUndefined();
      expect(await deployments.listDue(T0, 10)).toEqual([]);
      for (let index = 0; index < 6; index++) {
        await create(store, { id: `dep_${index}`, finishDueMs: 100 - index, replyDueMs: index === 5 ? 3 : undefined });
      }
      await updateDeployment(deployments, "dep_4", () => ({ fields: { finishDueMs: undefined } }));
      const due = async (serviceNowMs: number, limit: number) =>
        (await deployments.listDue(serviceNowMs, limit)).map(({ id }) => id);
      expect(await deployments.findNextDue()).toBe(3);
      expect(await due(97.5, 10)).toEqual(["dep_5", "dep_3"]);
      expect(await due(150, 2)).toEqual(["dep_5", "dep_3"]);
      await updateDeployment(deployments, "dep_5", () => ({ fields: { finishDueMs: 200, replyDueMs: undefined } }));
      expect(await deployments.findNextDue()).toBe(97);
      expect(await due(150, 10)).toEqual(["dep_3", "dep_2", "dep_1", "dep_0"]);
    });

    test("old ones are removed with their events, each once by concurrent calls", async () => {
      await using store = await openWithAccounts(harness);
      for (let index = 0; index < 6; index++) {
        await create(store, { id: `dep_${index}` });
        if (index < 5) await end(store, `dep_${index}`, T0 + index);
      }
      const removed = await Promise.all([1, 2, 3].map(() => store.deployments.removeFinished(T0 + 4, 3)));
      expect(removed.reduce((sum, count) => sum + count, 0)).toBe(4);
      expect(await store.deployments.readEvents("dep_0", 0, 10)).toEqual({ events: [], hasMore: false, isOver: true });
      expect(await store.deployments.findDeployment("dep_4")).toMatchObject({ state: { status: "Fail" } });
      expect(await store.deployments.findDeployment("dep_5")).toMatchObject({ state: SENDING });
    });
  });
}
