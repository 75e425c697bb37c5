import { expect, test } from "vitest";
import { MAX_PAST_ATTEMPTS, type PastAttempt } from "../../../src/control-plane/core/fleets/attempt.ts";
import type { Target } from "../../../src/control-plane/core/fleets/rollout.ts";
import { describeDomain, openWithAccounts, type StoreHarness } from "./harness.ts";
import { prepareRollout } from "./rollouts-contract.ts";

const past = (attempt: number, fields: Partial<PastAttempt> = {}): PastAttempt => ({
  direction: "forward",
  attempt,
  state: "failed",
  code: "CrashLoopBackOff",
  message: "It crashed.",
  deploymentId: `dep_${attempt}`,
  begunAtMs: 5,
  endedAtMs: 10 + attempt,
  logs: "no such table",
  ...fields,
});

/** Contract of stores for what the targets of rollouts went through. */
export function rolloutAttemptsContract(harness: StoreHarness): void {
  describeDomain("rollouts: attempts", harness, () => {
    test("keep the attempts that have failed, whatever becomes of their targets, and no more than the newest", async () => {
      await using store = await openWithAccounts(harness);
      const { rollout, targets } = await prepareRollout(store, 2, { state: "deploying", attempt: 1 });
      const [one, other] = targets;
      if (!one || !other) throw new Error("no targets");
      const fence = { rolloutId: rollout.id, epoch: rollout.epoch };
      const change = (before: Target, after: Partial<Target>, kept: PastAttempt) =>
        store.rollouts.changeTargets(fence, [{ before, after: { ...before, ...after }, past: kept }]);
      await change(one, { state: "pending" }, past(1));
      // Of what is known already nothing is lost.
      const turned = past(1, { code: undefined, message: undefined, logs: undefined });
      await change({ ...one, state: "pending" }, { direction: "back" }, turned);
      expect(
        await store.rollouts.listAttempts(
          rollout.id,
          targets.map(({ assetUuid }) => assetUuid),
        ),
      ).toEqual(new Map([[one.assetUuid, [past(1)]]]));
      // What was not changed has no attempt.
      await change({ ...other, state: "soaking" }, { state: "failed" }, past(1));
      expect(await store.rollouts.countFailedAttempts(rollout.id)).toEqual([
        { code: "CrashLoopBackOff", attempts: 1, assets: 1 },
      ]);
      const failed = await store.rollouts.listTargets(rollout.id, 10, { hasFailed: true });
      expect(failed.map(({ assetUuid }) => assetUuid)).toEqual([one.assetUuid]);
      for (let attempt = 1; attempt <= MAX_PAST_ATTEMPTS + 5; attempt++) await change(other, {}, past(attempt));
      const kept = (await store.rollouts.listAttempts(rollout.id, [other.assetUuid])).get(other.assetUuid) ?? [];
      expect(kept.map(({ attempt }) => attempt)).toEqual(
        Array.from({ length: MAX_PAST_ATTEMPTS }, (_, index) => index + 6),
      );
      await store.rollouts.removeTargets(fence, ["deploying"]);
      expect((await store.rollouts.listAttempts(rollout.id, [other.assetUuid])).size).toBe(0);
    });

    test("keep no attempt that has succeeded, and correct one that has failed before", async () => {
      await using store = await openWithAccounts(harness);
      const { rollout, targets } = await prepareRollout(store, 2, { state: "deploying", attempt: 1 });
      const [one, other] = targets;
      if (!one || !other) throw new Error("no targets");
      const fence = { rolloutId: rollout.id, epoch: rollout.epoch };
      const away = past(1, { code: "DeviceNotReachable", message: "The device vanished.", logs: undefined });
      const change = (before: Target, after: Partial<Target>, kept?: PastAttempt) =>
        store.rollouts.changeTargets(fence, [{ before, after: { ...before, ...after }, past: kept }]);
      await change(one, { state: "failed" }, away);
      await change({ ...one, state: "failed" }, { state: "soaking" });
      await change(other, { state: "soaking" });
      for (const target of [one, other]) {
        const done = past(1, { state: "succeeded", code: undefined, message: undefined, endedAtMs: 99 });
        await change({ ...target, state: "soaking" }, { state: "succeeded" }, done);
      }
      const uuids = targets.map(({ assetUuid }) => assetUuid);
      expect(await store.rollouts.listAttempts(rollout.id, uuids)).toEqual(
        new Map([[one.assetUuid, [{ ...away, state: "succeeded", endedAtMs: 99 }]]]),
      );
      expect(await store.rollouts.countFailedAttempts(rollout.id)).toEqual([]);
      expect(await store.rollouts.listTargets(rollout.id, 10, { hasFailed: true })).toEqual([]);
    });

    test("an attempt that did not count is neither a failure nor one of an asset that has failed", async () => {
      await using store = await openWithAccounts(harness);
      const { rollout, targets } = await prepareRollout(store, 1, { state: "deploying", attempt: 1 });
      const [one] = targets;
      if (!one) throw new Error("no targets");
      const fence = { rolloutId: rollout.id, epoch: rollout.epoch };
      const kept = past(1, { state: "not_counted", code: "DeviceNotReachable" });
      await store.rollouts.changeTargets(fence, [{ before: one, after: { ...one, state: "pending" }, past: kept }]);
      expect((await store.rollouts.listAttempts(rollout.id, [one.assetUuid])).get(one.assetUuid)).toEqual([kept]);
      expect(await store.rollouts.countFailedAttempts(rollout.id)).toEqual([]);
      expect(await store.rollouts.listTargets(rollout.id, 10, { hasFailed: true })).toEqual([]);
    });
  });
}
