import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { soakMsOf } from "../../../protocol/fleets/rollout-strategy.ts";
import type { RolloutBody, TargetBody } from "../../../protocol/fleets/rollout.ts";
import type { Fleet } from "../../core/fleets/fleet.ts";
import { standingOf, sumByState } from "../../fleets/rollout-events.ts";
import type { Rollout } from "../../core/fleets/rollout.ts";
import { settledCounts } from "../../core/fleets/progress.ts";
import { isRolloutOver } from "../../../protocol/fleets/rollout-over.ts";
import type { PastAttempt } from "../../core/fleets/attempt.ts";
import type { FailureCount, ListedTarget, TargetCount } from "../../store/rollouts.ts";
import type { Store } from "../../store/store.ts";
import { findFleet, fleetParams } from "../fleets/fleet-resource.ts";

/** Path parameters of every endpoint of one rollout. */
export const rolloutParams = z.object({
  ...fleetParams.shape,
  rollout_id: z.string().meta({ description: "Id of the rollout." }),
});

export interface FoundRollout {
  readonly fleet: Fleet;
  readonly rollout: Rollout;
}

/** Finds a rollout of a fleet of the account. Errors: `FleetNotFound`, `RolloutNotFound`. */
export async function findRollout(
  store: Pick<Store, "fleets" | "rollouts">,
  request: FastifyRequest<{ Params: { fleet: string; rollout_id: string } }>,
): Promise<FoundRollout> {
  const fleet = await findFleet(store, request);
  const { rollout_id: id } = request.params;
  // No id has one, and databases refuse it.
  const rollout = id.includes("\0") ? undefined : await store.rollouts.findRollout(id);
  if (rollout?.fleetId !== fleet.id || rollout.kind !== "rollout") throw new EdgeError("RolloutNotFound");
  return { fleet, rollout };
}

/** Returns the rollout as clients see it, with its targets counted. */
export async function toRolloutBody(
  { rollouts }: Pick<Store, "rollouts">,
  { fleet, rollout }: FoundRollout,
): Promise<RolloutBody> {
  const counts = await rollouts.countTargets(rollout.id);
  const settled = settledCounts(rollout, counts);
  const isWaiting = !isRolloutOver(rollout) && counts.some(({ state }) => state === "waiting");
  return {
    id: rollout.id,
    fleet: fleet.name,
    retry_of: rollout.retryOf ?? null,
    revision: rollout.revision,
    previous_revision: rollout.previousRevision ?? null,
    state: rollout.state,
    reason: rollout.reason ?? null,
    strategy: rollout.strategy,
    wave: rollout.wave + 1,
    waves: wavesOf(rollout, settled),
    targets: sum(counts),
    counts: sumByState(settled),
    ...standingOf(rollout, counts, isWaiting ? await rollouts.listWaits(rollout.id) : []),
    failures: (await rollouts.countFailedAttempts(rollout.id)).map(toFailureBody),
    created_at: toSeconds(rollout.createdAtMs),
    created_by: rollout.createdBy,
    approved_by: rollout.approvedBy ?? null,
    started_at: rollout.startedAtMs === undefined ? null : toSeconds(rollout.startedAtMs),
    finished_at: rollout.finishedAtMs === undefined ? null : toSeconds(rollout.finishedAtMs),
  };
}

export function toTargetBody(target: ListedTarget, attempts: readonly PastAttempt[] = []): TargetBody {
  const { waitsFor, deploymentId, code, message, dueMs } = target;
  const isWaiting = target.state === "waiting";
  return {
    asset_id: target.assetUuid,
    asset_name: target.assetName,
    serial_number: target.serialNumber,
    wave: target.wave + 1,
    state: target.state,
    ...(isWaiting && waitsFor !== undefined && { for: waitsFor }),
    ...(isWaiting && dueMs !== undefined && { until: toSeconds(dueMs) }),
    direction: target.direction,
    attempt: target.attempt,
    ...(deploymentId !== undefined && { deployment_id: deploymentId }),
    ...(code !== undefined && { code }),
    ...(message !== undefined && { message }),
    since: toSeconds(target.sinceMs),
    attempts: attempts.map(toAttemptBody),
  };
}

const toFailureBody = ({ code, attempts, assets }: FailureCount): RolloutBody["failures"][number] => ({
  code: code ?? null,
  attempts,
  assets,
});

function toAttemptBody(past: PastAttempt): TargetBody["attempts"][number] {
  const { direction, attempt, state, code, message, deploymentId, begunAtMs, endedAtMs, logs } = past;
  return {
    direction,
    attempt,
    state,
    ...(code !== undefined && { code }),
    ...(message !== undefined && { message }),
    ...(deploymentId !== undefined && { deployment_id: deploymentId }),
    ...(begunAtMs !== undefined && { begun_at: toSeconds(begunAtMs) }),
    ended_at: toSeconds(endedAtMs),
    ...(logs !== undefined && { logs }),
  };
}

function wavesOf({ strategy }: Rollout, counts: readonly TargetCount[]): RolloutBody["waves"] {
  // The last one, which has all others, is not in the strategy.
  return [...strategy.waves, undefined].map((wave, index) => {
    const own = counts.filter((group) => group.wave === index);
    return {
      wave: index + 1,
      targets: sum(own),
      counts: sumByState(own),
      advance: wave?.advance ?? "auto",
      soak_s: soakMsOf(strategy, index) / 1000,
    };
  });
}

function sum(counts: readonly TargetCount[]): number {
  return counts.reduce((total, { count }) => total + count, 0);
}

const toSeconds = (ms: number): number => Math.floor(ms / 1000);
