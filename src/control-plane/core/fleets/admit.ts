import type { TargetCount } from "./changes.ts";
import { placesTaken } from "./counts.ts";
import type { Rollout } from "./rollout.ts";
import type { Target } from "./target.ts";

/**
 * Returns which of the targets that want to begin do so now, in their order: as many as there are free places, of the waves that
 * were entered, and none unless the rollout runs or goes back.
 *
 * First come earlier waves, then targets that were tried less often, then those that have waited longest.
 *
 * Fewer are not admitted because a stop is near: with `max_parallel` 50, up to 50 devices get a bad revision before the first
 * failure can stop it. The limit of a wave is what bounds that.
 *
 * @param counts of all targets of the rollout, as they are stored
 */
export function admit(
  rollout: Pick<Rollout, "kind" | "state" | "wave" | "strategy" | "acceptedFailures">,
  wanting: readonly Target[],
  counts: readonly TargetCount[],
): readonly Target[] {
  const free = rollout.strategy.max_parallel - placesTaken(rollout, counts);
  if (free <= 0) return [];
  return wanting
    .filter((target) => mayBegin(rollout, target))
    .toSorted(compareTargets)
    .slice(0, free);
}

function mayBegin({ state, wave }: Pick<Rollout, "state" | "wave">, target: Target): boolean {
  if (state === "rolling_back") return target.direction === "back";
  return state === "running" && target.direction === "forward" && target.wave <= wave;
}

function compareTargets(one: Target, other: Target): number {
  return (
    one.wave - other.wave ||
    one.attempt - other.attempt ||
    one.sinceMs - other.sinceMs ||
    (one.assetUuid < other.assetUuid ? -1 : 1)
  );
}
