import { EdgeError } from "../../protocol/errors/errors.ts";
import type { RolloutRequest } from "../../protocol/fleets/rollout.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import { newRollout, newTarget, type Rollout } from "../core/fleets/rollout.ts";
import { startFields, supersede } from "../core/fleets/rollout-commands.ts";
import type { RolloutChange } from "../store/rollouts.ts";
import type { Requester } from "./make-revision.ts";
import { goingBack, type RolloutPlanOptions, planRollout, type RolloutPlan } from "./plan-rollout.ts";
import { rolloutEvent } from "./rollout-events.ts";
import { isMadeBy, requestIdOf, rolloutId, type RolloutRequestId } from "./rollout-id.ts";

/** Number of the newest rollouts among which a repeated request is looked for. */
const REMEMBERED_ROLLOUTS = 100;

/** A rollout that was made, with what was planned; without that, the request has made it before. */
export interface MadeRollout {
  readonly rollout: Rollout;
  readonly plan?: RolloutPlan;
}

/** The request has made this rollout before. */
class RepeatedRollout extends Error {
  readonly rollout: Rollout;

  constructor(rollout: Rollout) {
    super(`rollout ${rollout.id} was made by the same request`);
    this.rollout = rollout;
  }
}

/**
 * Makes a rollout, which supersedes the one that is under way, or returns the earlier one when the request repeats an
 * `Idempotency-Key`. Errors: as of `planRollout`, `IdempotencyKeyReused`, and `FleetNotFound` if it was removed meanwhile.
 */
export async function makeRollout(
  options: RolloutPlanOptions,
  fleet: Fleet,
  request: RolloutRequest,
  { person, origin }: Requester,
  idempotencyKey: string | undefined,
): Promise<MadeRollout> {
  const { store, clock } = options;
  const nowMs = clock.now();
  const requestId = requestIdOf(fleet.id, idempotencyKey, request);
  const findRepeated = async (): Promise<Rollout | undefined> => {
    if (idempotencyKey === undefined) return undefined;
    const earlier = await store.rollouts.listRollouts(fleet.id, REMEMBERED_ROLLOUTS);
    return earlier.find(({ id }) => isMadeBy(id, requestId));
  };
  const repeated = await findRepeated();
  if (repeated) return { rollout: repeated };
  const id = rolloutId(requestId, nowMs);
  const plan = await planRollout(options, fleet, request);
  const { revision, strategy, waves } = plan;
  const draft = newRollout(
    {
      id,
      accountId: fleet.accountId,
      fleetId: fleet.id,
      kind: "rollout",
      revision: revision.revision.number,
      previousRevision: fleet.stableRevision,
      strategy,
      waveSizes: waves.map((wave) => wave.length),
      createdBy: person,
    },
    nowMs,
  );
  const rollout = request.start ? { ...draft, ...startFields(draft, nowMs) } : draft;
  const targets = waves.flatMap((wave, index) => wave.map(({ assetUuid }) => newTarget(id, assetUuid, index, nowMs)));
  const counts = targets.length === 0 ? [] : [{ wave: 0, ...PENDING, count: targets.length }];
  const event = rolloutEvent(rollout, counts, nowMs);
  const audit = auditEntry(origin, clock, {
    action: "rollout.created",
    subject: { kind: "rollout", id },
    details: { fleet: fleet.name, revision: rollout.revision, targets: targets.length },
  });
  const replace = (other: Rollout): RolloutChange => supersedeOther(other, rollout, requestId, nowMs);
  try {
    // Again, after the members were read: one without members is over at once, and then it is not superseded below.
    const meanwhile = await findRepeated();
    if (meanwhile) return { rollout: meanwhile };
    const isMade = await store.rollouts.createRollout(rollout, targets, event, replace, audit);
    if (!isMade) throw new EdgeError("FleetNotFound");
    if (request.plan_id !== undefined) await store.rollouts.removePlan(request.plan_id);
    return { rollout, plan };
  } catch (error) {
    if (error instanceof RepeatedRollout) return { rollout: error.rollout };
    throw error;
  }
}

const PENDING = { state: "pending", direction: "forward", waitsFor: undefined, wasAttempted: false } as const;

/** Throws where it must not be superseded; nothing is stored then. */
function supersedeOther(
  other: Rollout,
  { revision }: Rollout,
  requestId: RolloutRequestId,
  nowMs: number,
): RolloutChange {
  // Made at the same time by a repeat of the request.
  if (isMadeBy(other.id, requestId)) throw new RepeatedRollout(other);
  const fields = supersede(other, revision, nowMs);
  if (!fields) throw goingBack(other);
  return { fields, event: rolloutEvent({ ...other, ...fields }, [], nowMs) };
}
