import { soakMsOf, waveCount } from "../../protocol/fleets/rollout-strategy.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import { newRollout, type Rollout } from "../core/fleets/rollout.ts";
import { createId } from "../accounts/secrets.ts";

/** Returns the upkeep of a fleet with a stable revision: a rollout of one wave that never ends. */
export function newUpkeep(fleet: Fleet, nowMs: number): Rollout {
  const { id: fleetId, accountId, stableRevision } = fleet;
  if (stableRevision === undefined) throw new Error(`fleet ${fleetId} has no stable revision`);
  const id = createId("rol_");
  const made = newRollout(
    {
      id,
      accountId,
      fleetId,
      kind: "upkeep",
      ...upkeepFields(fleet, stableRevision),
      waveSizes: [0],
      createdBy: { kind: "service", id },
    },
    nowMs,
  );
  return { ...made, state: "running", waveEnteredAtMs: nowMs, startedAtMs: nowMs };
}

/** Returns what the upkeep has from its fleet. */
export function upkeepFields(
  { strategy }: Pick<Fleet, "strategy">,
  stableRevision: number,
): Pick<Rollout, "revision" | "previousRevision" | "strategy"> {
  const last = waveCount(strategy) - 1;
  return {
    revision: stableRevision,
    previousRevision: undefined,
    strategy: { ...strategy, waves: [], soak_s: soakMsOf(strategy, last) / 1000 },
  };
}
