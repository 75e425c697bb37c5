import { expect, test } from "vitest";
import { someFleet, someRollout, someRolloutEvent, someTarget } from "../../support/control-plane/fleets.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { someSuperSim } from "../../support/control-plane/sims.ts";
import { ACCOUNT, describeDomain, openWithAccounts, register, someAsset, type StoreHarness } from "./harness.ts";

const NOW = Date.UTC(2026, 10, 27);
const supersede = () => ({ fields: { state: "superseded" as const, finishedAtMs: 5_000 } });
const LATER = Date.UTC(2036, 10, 27);

/** Contract of stores for what the service knows of the time. */
export function timesContract(harness: StoreHarness): void {
  describeDomain("times", harness, () => {
    test("keep the mark that was stored last", async () => {
      await using store = await harness.open();
      expect(await store.times.readMark()).toBeUndefined();
      for (const keptMs of [NOW, LATER, NOW + 1]) {
        const mark = { keptMs, seenMs: LATER, steadyMs: 5 };
        await store.times.saveMark(mark);
        expect(await store.times.readMark()).toEqual(mark);
      }
    });

    test("bring to now what a clock that was ahead has put off for years, and nothing else", async () => {
      await using store = await openWithAccounts(harness);
      const [ahead, usual] = [
        await register(store, someAsset({ supersim: someSuperSim() })),
        await register(store, someAsset({ serialNumber: "SN-2", supersim: someSuperSim() })),
      ];
      await store.sims.postponeCheck(ahead.uuid, "supersim", LATER);
      await store.sims.postponeCheck(usual.uuid, "supersim", NOW + 3_600_000);
      const fleet = someFleet();
      await store.fleets.createFleet(fleet, someAudit("fleet.created"));
      const rollout = someRollout(fleet);
      const begun = { begunAtMs: NOW - 1_000, sinceMs: NOW - 500, dueMs: NOW + 86_400_000 };
      const targets = [
        someTarget(rollout, ahead.uuid, {
          begunAtMs: NOW - 9,
          sinceMs: LATER,
          soakSinceMs: LATER,
          downSinceMs: LATER,
          dueMs: LATER + 60_000,
        }),
        someTarget(rollout, usual.uuid, begun),
      ];
      await store.rollouts.createRollout(
        rollout,
        targets,
        someRolloutEvent(rollout),
        supersede,
        someAudit("rollout.created"),
      );
      expect(await store.times.setBack(NOW)).toBe(2);
      const due = await store.sims.listDueSims(["supersim"], NOW, 10);
      expect(due.map(({ asset }) => asset.uuid)).toEqual([ahead.uuid]);
      const found = await store.rollouts.listTargets(rollout.id, 10);
      const of = (uuid: string) => found.find(({ assetUuid }) => assetUuid === uuid);
      expect(of(ahead.uuid)).toMatchObject({
        begunAtMs: NOW - 9,
        sinceMs: NOW,
        soakSinceMs: NOW,
        downSinceMs: NOW,
        dueMs: NOW,
      });
      expect(of(usual.uuid)).toMatchObject(begun);
      expect(await store.times.setBack(NOW)).toBe(0);
      expect((await store.assets.findAsset(ACCOUNT, usual.uuid))?.uuid).toBe(usual.uuid);
    });
  });
}
