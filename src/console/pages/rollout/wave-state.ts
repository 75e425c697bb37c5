import type { TargetCounts, TargetState } from "../../../protocol/rollout.ts";
import { isRolloutOver } from "../../../protocol/rollout-over.ts";
import type { Rollout, RolloutWave } from "../../api/types.ts";
import { countIn } from "../../parts/target-states.ts";

const NOT_OVER: readonly TargetState[] = ["pending", "waiting", "deploying", "soaking"];

interface ShownWave extends Omit<RolloutWave, "counts"> {
  readonly counts: TargetCounts;
}

/** What of a rollout is described in words. States that no target is in are not among the counts. */
export interface ShownRollout extends Pick<Rollout, "state" | "revision" | "previous_revision" | "targets" | "wave"> {
  readonly counts: TargetCounts;
  readonly waves: readonly ShownWave[];
}

type Waves = Pick<ShownRollout, "state" | "wave" | "waves">;

/** Whether targets may still change, as deployments under way do after the end of a rollout. */
export function mayChange({ state, counts }: Pick<ShownRollout, "state" | "counts">): boolean {
  return !isRolloutOver({ state }) || countIn(counts, NOT_OVER) > 0;
}

/** Whether nothing of the wave under way is left to do. */
export function isWaveDone({ wave, waves }: Pick<Waves, "wave" | "waves">): boolean {
  const current = waves[wave - 1];
  return current !== undefined && countIn(current.counts, NOT_OVER) === 0;
}

/** Whether a running rollout goes on only when a person lets the next wave begin. */
export function waitsForAdvance(rollout: Waves): boolean {
  const { state, wave, waves } = rollout;
  return state === "running" && wave < waves.length && waves[wave - 1]?.advance === "manual" && isWaveDone(rollout);
}
