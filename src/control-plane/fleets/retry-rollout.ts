import type { Clock } from "../../lib/clock.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { isRolloutOver } from "../../protocol/rollout-over.ts";
import { auditEntry } from "../audit/audit-entry.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import { newRollout, newTarget } from "../core/fleets/new-records.ts";
import { startFields, supersede } from "../core/fleets/rollout-commands.ts";
import type { Rollout } from "../core/fleets/rollout.ts";
import type { Target } from "../core/fleets/target.ts";
import type { Store } from "../store/store.ts";
import type { Requester } from "./make-revision.ts";
import { goingBack } from "./plan-rollout.ts";
import { rolloutEvent } from "./rollout-events.ts";
import { requestIdOf, rolloutId } from "./rollout-id.ts";

const TARGETS_AT_ONCE = 1_000;
/** States of targets that have the revision, or get it from the retry. */
const RETRIED: ReadonlySet<Target["state"]> = new Set(["succeeded", "failed", "lost"]);

interface RetryOptions {
  readonly store: Pick<Store, "fleets" | "rollouts">;
  readonly clock: Clock;
}

/**
 * Makes a rollout of the same revision that takes only the assets on which one that is over has failed, without waves. Returns the
 * one that is under way if it was made so already. Errors: `RolloutStateConflict`, `RevisionNotFound`, `FleetNotFound`.
 */
export async function retryRollout(
  { store, clock }: RetryOptions,
  fleet: Fleet,
  earlier: Rollout,
  { person, origin }: Requester,
): Promise<Rollout> {
  const conflict = (message: string) =>
    new EdgeError("RolloutStateConflict", message, { rollout_id: earlier.id, state: earlier.state });
  if (!isRolloutOver(earlier)) throw conflict("The rollout is not over: what fails in it can be retried afterwards.");
  const [newest] = await store.rollouts.listRollouts(fleet.id, 1);
  if (newest?.retryOf === earlier.id && !isRolloutOver(newest)) return newest;
  const assets = await listFailed(store, earlier.id);
  if (assets.length === 0) throw conflict("No asset has failed in the rollout, apart from those that succeeded since.");
  if (!(await store.fleets.findRevision(fleet.id, earlier.revision)))
    throw new EdgeError("RevisionNotFound", undefined, { revision: earlier.revision });
  const nowMs = clock.now();
  const id = rolloutId(requestIdOf(fleet.id, undefined, {}), nowMs);
  const requiresApproval = earlier.strategy.requires_approval || fleet.strategy.requires_approval;
  const draft = newRollout(
    {
      id,
      accountId: earlier.accountId,
      fleetId: earlier.fleetId,
      kind: "rollout",
      retryOf: earlier.id,
      revision: earlier.revision,
      previousRevision: fleet.stableRevision,
      strategy: { ...earlier.strategy, waves: [], requires_approval: requiresApproval },
      waveSizes: [assets.length],
      createdBy: person,
    },
    nowMs,
  );
  const rollout = { ...draft, ...startFields(draft, nowMs) };
  const targets = assets.map((assetUuid) => newTarget(id, assetUuid, 0, nowMs));
  const subject = { kind: "rollout", id };
  const details = { fleet: fleet.name, revision: rollout.revision, targets: targets.length };
  const audit = auditEntry(origin, clock, { action: "rollout.created", subject, details });
  const replace = (other: Rollout) => {
    const fields = supersede(other, rollout.revision, nowMs);
    if (!fields) throw goingBack(other);
    return { fields, event: rolloutEvent({ ...other, ...fields }, [], nowMs) };
  };
  const isMade = await store.rollouts.createRollout(rollout, targets, rolloutEvent(rollout, [], nowMs), replace, audit);
  if (!isMade) throw new EdgeError("FleetNotFound");
  return rollout;
}

/** Whether a retry has brought the revision to all that an earlier rollout had left out: only then it becomes the stable one. */
export async function completes({ rollouts }: Pick<Store, "rollouts">, retryOf: string): Promise<boolean> {
  const counts = (await rollouts.countTargets(retryOf)).filter(({ count }) => count > 0);
  return counts.length > 0 && counts.every(({ direction, state }) => direction === "forward" && RETRIED.has(state));
}

async function listFailed({ rollouts }: Pick<Store, "rollouts">, id: string): Promise<readonly string[]> {
  const assets: string[] = [];
  for (let after: string | undefined; ;) {
    const filter = { hasFailed: true, ...(after !== undefined && { after }) };
    const page = await rollouts.listTargets(id, TARGETS_AT_ONCE, filter);
    const failed = page.filter(({ direction, state }) => direction === "back" || state !== "succeeded");
    assets.push(...failed.map(({ assetUuid }) => assetUuid));
    after = page.at(-1)?.assetUuid;
    if (page.length < TARGETS_AT_ONCE) return assets;
  }
}
