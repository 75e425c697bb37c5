import { EdgeError } from "../../protocol/errors/errors.ts";
import type { MemberStateName } from "../../protocol/fleets/fleet-member.ts";
import { isRolloutOver } from "../../protocol/fleets/rollout-over.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import { termsOfSelector } from "../core/selector-terms.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import { newRollout, newTarget, type Rollout, type Target } from "../core/fleets/rollout.ts";
import { startFields, supersede } from "../core/fleets/rollout-commands.ts";
import { describeCounts } from "../core/fleets/progress.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { Store } from "../store/store.ts";
import { Uploads } from "../uploads/uploads.ts";
import type { Requester } from "./make-revision.ts";
import { goingBack } from "./plan-rollout.ts";
import { rolloutEvent } from "./rollout-events.ts";
import { requestIdOf, rolloutId } from "./rollout-id.ts";

const TARGETS_AT_ONCE = 1_000;
/** States of targets that have the revision, or get it from the retry. */
const RETRIED: ReadonlySet<Target["state"]> = new Set(["succeeded", "failed", "lost", "refused"]);
/** States of members that run their revision as a whole. */
const AS_A_WHOLE: ReadonlySet<MemberStateName> = new Set(["current", "outdated"]);
/** Retries of retries that are followed back to the rollout of all members. */
const MAX_RETRIES = 100;

interface RetryOptions {
  readonly store: Pick<Store, "fleets" | "rollouts" | "uploads">;
  readonly clock: ServiceClock;
}

/** What a retry takes, of the assets on which the rollout has failed or was refused. */
export interface RetryPlan {
  readonly revision: number;
  /** UUIDs of those that it brings the revision to. */
  readonly assets: readonly string[];
  /** Number of those that run the revision by now, and of those that are not in the fleet any more. Both are left out. */
  readonly current: number;
  readonly left: number;
  /** The rollout that it supersedes. */
  readonly superseded: Rollout | undefined;
  /** The same retry, which is under way already. */
  readonly underWay: Rollout | undefined;
}

/**
 * Says what a retry of a rollout takes. Errors: `RolloutStateConflict` if it is not over, nothing is to be retried, or another rollout
 * goes back; `RevisionNotFound`; `InvalidRequest` if uploads of the revision have given way to others.
 */
export async function planRetry({ store, clock }: RetryOptions, fleet: Fleet, earlier: Rollout): Promise<RetryPlan> {
  const conflict = (message: string) =>
    new EdgeError("RolloutStateConflict", message, { rollout_id: earlier.id, state: earlier.state });
  if (!isRolloutOver(earlier)) throw conflict("The rollout is not over: what fails in it can be retried afterwards.");
  const failed = await listFailed(store, earlier.id);
  const [newest] = await store.rollouts.listRollouts(fleet.id, 1);
  const open = newest && !isRolloutOver(newest) ? newest : undefined;
  const plan = { revision: earlier.revision, ...(await divide(store, fleet, earlier.revision, failed)) };
  if (open?.retryOf === earlier.id) return { ...plan, superseded: undefined, underWay: open };
  if (plan.assets.length === 0) throw conflict(await nothingToRetry(store, earlier, plan));
  if (open?.state === "rolling_back") throw goingBack(open);
  if (!(await store.fleets.findRevision(fleet.id, earlier.revision)))
    throw new EdgeError("RevisionNotFound", undefined, { revision: earlier.revision });
  await new Uploads(store.uploads, clock).useOfRevision(fleet.id, earlier.revision);
  return { ...plan, superseded: open, underWay: undefined };
}

/**
 * Makes a rollout of the same revision that takes only the assets on which one that is over has failed, without waves. Returns the
 * one that is under way if it was made so already. Errors: as of `planRetry`, and `FleetNotFound`.
 */
export async function retryRollout(
  { store, clock }: RetryOptions,
  fleet: Fleet,
  earlier: Rollout,
  { person, origin }: Requester,
): Promise<Rollout> {
  const { assets, underWay } = await planRetry({ store, clock }, fleet, earlier);
  if (underWay) return underWay;
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

/**
 * Whether a retry has brought the revision to all that the rollouts before had left out, back to the one that took all members: only
 * then it becomes the stable one.
 */
export async function completes({ rollouts }: Pick<Store, "rollouts">, retryOf: string): Promise<boolean> {
  let id: string | undefined = retryOf;
  for (let retries = 0; id !== undefined; retries++) {
    const counts = (await rollouts.countTargets(id)).filter(({ count }) => count > 0);
    const isComplete = counts.every(({ direction, state }) => direction === "forward" && RETRIED.has(state));
    if (counts.length === 0 || !isComplete || retries > MAX_RETRIES) return false;
    id = (await rollouts.findRollout(id))?.retryOf;
  }
  return true;
}

/** Divides assets on which a rollout has failed into those that are retried, and the numbers of others. */
async function divide(
  { fleets }: Pick<Store, "fleets">,
  fleet: Fleet,
  revision: number,
  failed: ReadonlySet<string>,
): Promise<Pick<RetryPlan, "assets" | "current" | "left">> {
  const assets: string[] = [];
  let current = 0;
  for (let after: string | undefined; failed.size > 0;) {
    const page = await fleets.listMembers(fleet, termsOfSelector(fleet.selector), TARGETS_AT_ONCE, after);
    for (const { assetUuid, judgement } of page) {
      if (!failed.has(assetUuid)) continue;
      if (judgement && AS_A_WHOLE.has(judgement.state) && judgement.revision === revision) current++;
      else assets.push(assetUuid);
    }
    if (page.length < TARGETS_AT_ONCE) break;
    after = page.at(-1)?.assetUuid;
  }
  return { assets, current, left: failed.size - assets.length - current };
}

async function nothingToRetry(
  { rollouts }: Pick<Store, "rollouts">,
  { id, revision }: Rollout,
  { current, left }: Pick<RetryPlan, "current" | "left">,
): Promise<string> {
  const failed = current + left;
  if (failed > 0) {
    const parts = [
      ...(current > 0 ? [`${current} of them ${current === 1 ? "runs" : "run"} revision ${revision} by now`] : []),
      ...(left > 0 ? [`${left} of them ${left === 1 ? "is" : "are"} not in the fleet any more`] : []),
    ];
    return `Nothing to retry: ${failed} ${failed === 1 ? "asset has" : "assets have"} failed in the rollout; ${parts.join(", ")}.`;
  }
  return `Nothing to retry: no asset has failed in the rollout or refused it (${describeCounts(await rollouts.countTargets(id)) || "it had none"}).`;
}

/** Returns the assets that have failed or refused, and those that went back from that. */
async function listFailed({ rollouts }: Pick<Store, "rollouts">, id: string): Promise<ReadonlySet<string>> {
  const assets = new Set<string>();
  for (let after: string | undefined; ;) {
    const filter = { hasFailed: true, ...(after !== undefined && { after }) };
    const page = await rollouts.listTargets(id, TARGETS_AT_ONCE, filter);
    for (const { assetUuid, direction, state } of page)
      if (direction === "back" || state !== "succeeded") assets.add(assetUuid);
    after = page.at(-1)?.assetUuid;
    if (page.length < TARGETS_AT_ONCE) return assets;
  }
}
