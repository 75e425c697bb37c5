import { expect, test } from "vitest";
import { type FactsScope, StaleRolloutError } from "../../../src/control-plane/store/rollouts.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { Target } from "../../../src/control-plane/core/fleets/rollout.ts";
import { SOMEBODY, someFleet, someRollout, someRolloutEvent, someTarget } from "../../support/control-plane/fleets.ts";
import { failed, receivedDeployment } from "../../support/deployment-record.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import {
  ACCOUNT,
  describeDomain,
  openWithAccounts,
  register,
  SOME_TIME,
  someAsset,
  type StoreHarness,
} from "./harness.ts";
import { createDeployment, updateDeployment } from "../../support/store-deployment.ts";

const audit = someAudit("rollout.created");
const supersede = () => ({ fields: { state: "superseded" as const, finishedAtMs: 5_000 } });

/** A fleet with a rollout and its targets. */
export async function prepareRollout(store: Store, assets = 3, fields: Partial<Target> = {}) {
  const fleet = someFleet();
  await store.fleets.createFleet(fleet, someAudit("fleet.created"));
  const uuids: string[] = [];
  for (let index = 0; index < assets; index++) uuids.push((await register(store, someAsset())).uuid);
  const rollout = someRollout(fleet);
  const targets = uuids.map((uuid) => someTarget(rollout, uuid, fields));
  expect(await store.rollouts.createRollout(rollout, targets, someRolloutEvent(rollout), supersede, audit)).toBe(true);
  const scope: FactsScope = { ...SOME_TIME, rolloutId: rollout.id, fleetId: fleet.id, apps: fleet.apps };
  return { fleet, rollout, targets, uuids, scope };
}

const deploying = (target: Target): Target => ({
  ...target,
  state: "deploying",
  attempt: target.attempt + 1,
  wasAttempted: true,
});

const wait = (before: Target | undefined, fields: Partial<Target>) =>
  before ? [{ before, after: { ...before, state: "waiting" as const, ...fields } }] : [];
const skip = (before: Target) => ({ before, after: { ...before, state: "skipped" as const } });
const ids = (rows: readonly { readonly target: Target }[]) => rows.map(({ target }) => target.assetUuid);

/** Contract of stores for rollouts and their targets. */
export function rolloutsContract(harness: StoreHarness): void {
  describeDomain("rollouts", harness, () => {
    test("are found as they were stored, with their targets and the first event", async () => {
      await using store = await openWithAccounts(harness);
      const { fleet, rollout, targets } = await prepareRollout(store);
      expect(await store.rollouts.findRollout(rollout.id)).toEqual(rollout);
      expect(await store.rollouts.listRollouts(fleet.id, 10)).toEqual([rollout]);
      const listed = await store.rollouts.listTargets(rollout.id, 10);
      expect(listed.map((each) => ({ ...each, assetName: undefined, serialNumber: undefined }))).toEqual(targets);
      const [asset] = await Promise.all(targets.map(({ assetUuid }) => store.assets.findAssetByUuid(assetUuid)));
      expect(listed[0]?.serialNumber).toBe(asset?.serialNumber);
      expect(listed[0]?.assetName).toMatch(/^Gateway/);
      const { events, isOver } = await store.rollouts.readEvents(rollout.id, 0, 10);
      expect(events.map(({ seq, json }) => [seq, (JSON.parse(json) as { seq: number }).seq])).toEqual([[1, 1]]);
      expect(isOver).toBe(false);
      const told = (await store.accountEvents.read(ACCOUNT, 0, 100)).events.map(({ event }) => event);
      expect(told).toContainEqual({
        type: "rollout.changed",
        fleet: fleet.name,
        rollout_id: rollout.id,
        state: "running",
        waits_for_people: false,
      });
      expect(
        await store.rollouts.createRollout(
          someRollout({ id: "flt_none", accountId: ACCOUNT }),
          [],
          someRolloutEvent(rollout),
          supersede,
        ),
      ).toBe(false);
    });

    test("a target keeps every field", async () => {
      await using store = await openWithAccounts(harness);
      const { rollout, targets } = await prepareRollout(store, 1, {
        wave: 2,
        direction: "back",
        state: "waiting",
        waitsFor: "budget",
        attempt: 3,
        failedAttempts: 2,
        attemptsBefore: 1,
        deploymentId: "dep_1",
        wasAttempted: true,
        begunAtMs: 4_000_000_000_000,
        soakSinceMs: 2,
        downSinceMs: 5,
        awaySinceMs: 3,
        dueMs: 4,
        code: "Unhealthy",
        message: "It is not well.",
      });
      expect(await store.rollouts.findTarget(rollout.id, targets[0]?.assetUuid ?? "")).toEqual(targets[0]);
    });

    test("a command decides with the targets counted, and changes nothing where it decides nothing", async () => {
      await using store = await openWithAccounts(harness);
      const { rollout } = await prepareRollout(store, 3);
      const seen: unknown[] = [];
      const after = await store.rollouts.commandRollout(rollout.id, (found, counts) => {
        seen.push(found.id, counts);
        return { fields: { advanceTo: 1 } };
      });
      expect(seen).toEqual([rollout.id, await store.rollouts.countTargets(rollout.id)]);
      expect(after).toMatchObject({ advanceTo: 1, version: 2 });
      expect(await store.rollouts.commandRollout(rollout.id, () => undefined)).toEqual(after);
      expect(await store.rollouts.commandRollout("rol_none", () => ({ fields: {} }))).toBeUndefined();
    });

    test("an event of its stream is also one of its account where that is asked for", async () => {
      await using store = await openWithAccounts(harness);
      const { fleet, rollout } = await prepareRollout(store, 1);
      const fence = { rolloutId: rollout.id, epoch: rollout.epoch };
      const event = { ...someRolloutEvent(rollout), waits_for_people: true };
      for (const isForAccount of [false, true]) await store.rollouts.addEvent(fence, event, { isForAccount });
      const told = (await store.accountEvents.read(ACCOUNT, 0, 100)).events.map((each) => each.event);
      expect(told.filter(({ type }) => type === "rollout.changed").slice(1)).toEqual([
        {
          type: "rollout.changed",
          fleet: fleet.name,
          rollout_id: rollout.id,
          state: "running",
          waits_for_people: true,
        },
      ]);
      expect((await store.rollouts.readEvents(rollout.id, 0, 10)).events).toHaveLength(3);
    });

    test("what targets wait for is grouped, with the first time of each and what is in the way", async () => {
      await using store = await openWithAccounts(harness);
      const { rollout, targets } = await prepareRollout(store, 5);
      const [one, two, three, four] = targets;
      await store.rollouts.changeTargets({ rolloutId: rollout.id, epoch: rollout.epoch }, [
        ...wait(one, { waitsFor: "connection", awaySinceMs: 3_000, sinceMs: 9_000, dueMs: 20_000, message: "Away." }),
        ...wait(two, { waitsFor: "connection", sinceMs: 8_000, dueMs: 10_000, message: "Never there." }),
        ...wait(three, { waitsFor: "conflict", sinceMs: 7_000, message: "It is of fleet b." }),
        ...wait(four, { waitsFor: "conflict", sinceMs: 6_000, message: "It is of fleet a." }),
      ]);
      expect(await store.rollouts.listWaits(rollout.id)).toEqual([
        { for: "connection", count: 2, sinceMs: 3_000, untilMs: 10_000, message: undefined },
        { for: "conflict", count: 1, sinceMs: 6_000, untilMs: undefined, message: "It is of fleet a." },
        { for: "conflict", count: 1, sinceMs: 7_000, untilMs: undefined, message: "It is of fleet b." },
      ]);
      expect(await store.rollouts.listWaits("rol_none")).toEqual([]);
    });

    test("a newer one supersedes those that are not over, one of two that are made at once the other", async () => {
      await using store = await openWithAccounts(harness);
      const { fleet, rollout } = await prepareRollout(store);
      const [one, two] = [someRollout(fleet), someRollout(fleet)];
      await Promise.all(
        [one, two].map((each) => store.rollouts.createRollout(each, [], someRolloutEvent(each), supersede, audit)),
      );
      expect(await store.rollouts.findRollout(rollout.id)).toMatchObject({
        state: "superseded",
        finishedAtMs: 5_000,
        version: 2,
      });
      const states = await Promise.all([one, two].map(async ({ id }) => (await store.rollouts.findRollout(id))?.state));
      expect(new Set(states)).toEqual(new Set(["running", "superseded"]));
      expect((await store.rollouts.readEvents(rollout.id, 0, 10)).isOver).toBe(true);
      // It is looked after until its targets have ended.
      expect((await store.rollouts.listActive()).map(({ id }) => id)).toContain(rollout.id);
    });

    test("the upkeep of a fleet is no rollout, and there is one", async () => {
      await using store = await openWithAccounts(harness);
      const { fleet, rollout } = await prepareRollout(store);
      const upkeep = someRollout(fleet, { kind: "upkeep" });
      expect(await store.rollouts.findUpkeep(fleet.id)).toBeUndefined();
      await store.rollouts.createRollout(upkeep, [], someRolloutEvent(upkeep), supersede);
      expect(await store.rollouts.findUpkeep(fleet.id)).toEqual(upkeep);
      expect((await store.rollouts.listRollouts(fleet.id, 10)).map(({ id }) => id)).toEqual([rollout.id]);
      expect((await store.rollouts.findRollout(rollout.id))?.state).toBe("running");
      const second = someRollout(fleet, { kind: "upkeep" });
      await expect(store.rollouts.createRollout(second, [], someRolloutEvent(second), supersede)).rejects.toThrow();
    });

    test("a coordinator that was replaced changes nothing", async () => {
      await using store = await openWithAccounts(harness);
      const { rollout, targets } = await prepareRollout(store);
      const { rollouts } = store;
      const first = await rollouts.takeUp(rollout.id);
      const fence = { rolloutId: rollout.id, epoch: first?.epoch ?? 0 };
      await rollouts.updateRollout(rollout.id, () => ({ fields: { wave: 1 } }), fence);
      await rollouts.takeUp(rollout.id);
      const [target] = targets as [Target];
      await expect(rollouts.updateRollout(rollout.id, () => ({ fields: { wave: 2 } }), fence)).rejects.toThrow(
        StaleRolloutError,
      );
      await expect(
        rollouts.changeTargets(fence, [{ before: target, after: { ...target, state: "skipped" } }]),
      ).rejects.toThrow(StaleRolloutError);
      await expect(rollouts.addTargets(fence, [target])).rejects.toThrow(StaleRolloutError);
      expect(await rollouts.findRollout(rollout.id)).toMatchObject({ wave: 1, epoch: 2 });
      expect((await rollouts.findTarget(rollout.id, target.assetUuid))?.state).toBe("pending");
      expect(await rollouts.takeUp("rol_none")).toBeUndefined();
    });

    test("a decision about a target that has changed since is left out", async () => {
      await using store = await openWithAccounts(harness);
      const { rollout, targets, uuids } = await prepareRollout(store);
      const epoch = (await store.rollouts.takeUp(rollout.id))?.epoch ?? 0;
      const fence = { rolloutId: rollout.id, epoch };
      const [one, two] = targets as [Target, Target];
      expect(await store.rollouts.changeTargets(fence, [skip(one), skip(two)])).toEqual(new Set(uuids.slice(0, 2)));
      expect(await store.rollouts.changeTargets(fence, [skip(one)])).toEqual(new Set());
      expect(await store.rollouts.changeTargets(fence, [])).toEqual(new Set());
    });

    test("no target begins after the record was changed, such as by a pause", async () => {
      await using store = await openWithAccounts(harness);
      const { rollout, targets, uuids } = await prepareRollout(store);
      const epoch = (await store.rollouts.takeUp(rollout.id))?.epoch ?? 0;
      const fence = { rolloutId: rollout.id, epoch };
      const begin = (target: Target, beginVersion: number) =>
        store.rollouts.changeTargets(fence, [{ before: target, after: deploying(target) }], {
          beginVersion,
          apps: ["web"],
        });
      const [one, two] = targets as [Target, Target];
      expect(await begin(one, rollout.version)).toEqual(new Set([uuids[0]]));
      const paused = await store.rollouts.updateRollout(rollout.id, () => ({ fields: { state: "paused" } }));
      expect(await begin(two, rollout.version)).toEqual(new Set());
      expect(await begin(two, paused?.version ?? 0)).toEqual(new Set([uuids[1]]));
      // The deployment of one that has begun is stored in any case.
      const after = { ...deploying(one), deploymentId: "dep_1" };
      expect(await store.rollouts.changeTargets(fence, [{ before: deploying(one), after }])).toEqual(
        new Set([uuids[0]]),
      );
    });

    test("a target whose app another fleet owns does not begin", async () => {
      await using store = await openWithAccounts(harness);
      const { rollout, targets, scope } = await prepareRollout(store);
      const other = someFleet();
      await store.fleets.createFleet(other, audit);
      const [one] = targets as [Target];
      await store.fleets.claimApps(other.id, one.assetUuid, ["web"]);
      const epoch = (await store.rollouts.takeUp(rollout.id))?.epoch ?? 0;
      const changes = targets.map((before) => ({ before, after: deploying(before) }));
      const beginning = { beginVersion: rollout.version, apps: ["web"] };
      const begun = await store.rollouts.changeTargets({ rolloutId: rollout.id, epoch }, changes, beginning);
      expect(begun).toEqual(new Set(targets.slice(1).map(({ assetUuid }) => assetUuid)));
      const [read] = await store.rollouts.readTargets(scope, [one.assetUuid]);
      expect(read?.facts.conflicts).toEqual([{ app: "web", fleet: other.name }]);
    });

    test("facts say what is known of the asset", async () => {
      await using store = await openWithAccounts(harness);
      const { scope, uuids, fleet } = await prepareRollout(store, 2);
      const [uuid = "", quiet = ""] = uuids;
      const [bare] = await store.rollouts.readTargets(scope, [quiet]);
      expect(bare).toMatchObject({ deployment: undefined, assetType: "gateway" });
      expect(bare?.facts).toEqual({
        isConnected: false,
        connectedSinceMs: undefined,
        protocol: undefined,
        agentVersion: undefined,
        lastSeenAtMs: undefined,
        report: undefined,
        heldUntilMs: undefined,
        unacceptedSinceMs: undefined,
        conflicts: [],
        isBusy: false,
      });
      expect([bare?.tags.size, bare?.variableNames.size]).toEqual([0, 0]);
      await store.assetSettings.changeTags(uuid, new Map([["role", "kiosk"]]), false, audit);
      const variable = { isSecret: true, keyId: "k", sealed: Buffer.from("x") };
      await store.assetSettings.changeVariables(uuid, new Map([["TOKEN", variable]]), false, audit);
      await store.assetSettings.changeHold(
        uuid,
        { untilMs: 9_000, reason: "fair", setAtMs: 1, setBy: SOMEBODY },
        audit,
      );
      const report = { hash: "h", apps: [], device: undefined };
      await store.devices.replaceReport(uuid, undefined, { value: report, at: 900 });
      const elsewhere = someRollout(fleet, { kind: "upkeep" });
      const busy = someTarget(elsewhere, uuid, { state: "deploying" });
      await store.rollouts.createRollout(elsewhere, [busy], someRolloutEvent(elsewhere), supersede);
      const [read] = await store.rollouts.readTargets(scope, [uuid]);
      expect(read?.facts).toMatchObject({ heldUntilMs: 9_000, isBusy: true, report: { apps: [], atMs: 900_000 } });
      expect([...(read?.tags ?? [])]).toEqual([["role", "kiosk"]]);
      expect([...(read?.variableNames ?? [])]).toEqual(["TOKEN"]);
    });

    test("facts say since when the device is connected", async () => {
      await using store = await openWithAccounts(harness);
      const { scope, uuids, fleet } = await prepareRollout(store, 1);
      const [assetUuid = ""] = uuids;
      const leaseUntilMs = SOME_TIME.serviceNowMs + 1;
      await store.instances.join({ id: "ins_1", version: "1", startedAtMs: 0, leaseUntilMs, nowMs: 0 });
      const read = async () => (await store.rollouts.readTargets(scope, [assetUuid]))[0]?.facts;
      const session = {
        assetUuid,
        sessionId: "ses_1",
        instanceId: "ins_1",
        protocol: 3,
        agentVersion: "1.2.3",
        at: 500,
      };
      const opened = await store.sessions.open(session);
      expect(await read()).toMatchObject({
        isConnected: true,
        connectedSinceMs: 500_000,
        protocol: 3,
        agentVersion: "1.2.3",
      });
      const known = { isConnected: true, agentVersion: "1.2.3" };
      expect(await store.fleets.listCandidates(fleet, [], SOME_TIME, 1)).toMatchObject([{ facts: known }]);
      expect(await store.members.readAssets(SOME_TIME, ACCOUNT, [assetUuid])).toMatchObject([known]);
      await store.sessions.close({ assetUuid, epoch: opened?.epoch ?? 0 }, 600, "lost");
      expect(await read()).toMatchObject({ isConnected: false, connectedSinceMs: undefined, lastSeenAtMs: 600_000 });
    });

    test("an asset is busy while a lost target of another rollout still has its deployment there", async () => {
      await using store = await openWithAccounts(harness);
      const { scope, uuids, fleet } = await prepareRollout(store, 1);
      const [uuid = ""] = uuids;
      const { lastEvent, ...deployment } = receivedDeployment({ accountId: ACCOUNT, assetUuid: uuid });
      await createDeployment(store.deployments, { ...deployment, lastSeq: 0, lastEvent: undefined }, lastEvent!);
      const elsewhere = someRollout(fleet, { kind: "upkeep" });
      const lost = someTarget(elsewhere, uuid, { state: "lost", deploymentId: deployment.id });
      await store.rollouts.createRollout(elsewhere, [lost], someRolloutEvent(elsewhere), supersede);
      const isBusy = async () => (await store.rollouts.readTargets(scope, [uuid]))[0]?.facts.isBusy;
      expect(await isBusy()).toBe(true);
      await updateDeployment(store.deployments, deployment.id, () => ({ fields: { state: failed() } }));
      expect(await isBusy()).toBe(false);
    });

    test("what is due comes first, what is in a state by wave", async () => {
      await using store = await openWithAccounts(harness);
      const { rollout, targets, scope, uuids } = await prepareRollout(store, 4);
      const epoch = (await store.rollouts.takeUp(rollout.id))?.epoch ?? 0;
      const [a, b, c, d] = targets as [Target, Target, Target, Target];
      const changes = [
        { before: a, after: { ...a, dueMs: 300, wave: 1 } },
        { before: b, after: { ...b, dueMs: 100, wave: 1 } },
        { before: c, after: { ...c, dueMs: 200, wave: 0 } },
        { before: d, after: { ...d, state: "skipped" as const, wave: 0 } },
      ];
      await store.rollouts.changeTargets({ rolloutId: rollout.id, epoch }, changes);
      expect(ids(await store.rollouts.listDue(scope, 250, 10))).toEqual([uuids[1], uuids[2]]);
      expect(ids(await store.rollouts.listDue(scope, 300, 1))).toEqual([uuids[1]]);
      expect(await store.rollouts.nextDue(rollout.id)).toBe(100);
      const byWave = [uuids[2], ...uuids.slice(0, 2).toSorted()];
      expect(ids(await store.rollouts.listInState(scope, "pending", 9, 10))).toEqual(byWave);
      expect(ids(await store.rollouts.listInState(scope, "pending", 0, 10))).toEqual([uuids[2]]);
      const first = { wave: 0, assetUuid: uuids[2] ?? "" };
      expect(ids(await store.rollouts.listInState(scope, "pending", 9, 10, first))).toEqual(byWave.slice(1));
      expect(await store.rollouts.countTargets(rollout.id)).toEqual([
        { wave: 0, state: "pending", direction: "forward", waitsFor: undefined, wasAttempted: false, count: 1 },
        { wave: 0, state: "skipped", direction: "forward", waitsFor: undefined, wasAttempted: false, count: 1 },
        { wave: 1, state: "pending", direction: "forward", waitsFor: undefined, wasAttempted: false, count: 2 },
      ]);
      expect(await store.rollouts.listTargets(rollout.id, 10, { states: ["skipped"] })).toHaveLength(1);
      expect(await store.rollouts.listTargets(rollout.id, 10, { wave: 1, after: uuids[0] ?? "" })).toHaveLength(1);
    });

    test("a target goes with its asset, a rollout when it is old", async () => {
      await using store = await openWithAccounts(harness);
      const { fleet, rollout, uuids } = await prepareRollout(store, 2);
      await store.assets.removeAsset(uuids[0] ?? "");
      expect(await store.rollouts.listTargets(rollout.id, 10)).toHaveLength(1);
      expect(await store.rollouts.removeOldRollouts(10_000, 10)).toBe(0);
      await store.rollouts.updateRollout(rollout.id, () => ({
        fields: { state: "succeeded", finishedAtMs: 9_000, isActive: false },
      }));
      // The newest of its fleet stays.
      expect(await store.rollouts.removeOldRollouts(9_001, 10)).toBe(0);
      const next = someRollout(fleet);
      await store.rollouts.createRollout(next, [], someRolloutEvent(next), supersede);
      expect(await store.rollouts.removeOldRollouts(9_000, 10)).toBe(0);
      expect(await store.rollouts.removeOldRollouts(9_001, 10)).toBe(1);
      expect(await store.rollouts.findRollout(rollout.id)).toBeUndefined();
    });
  });
}
