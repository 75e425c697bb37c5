import type { TargetCounts, TargetState } from "../../../protocol/fleets/rollout.ts";
import { isRolloutOver } from "../../../protocol/fleets/rollout-over.ts";
import type { Rollout, RolloutWave } from "../../../protocol/api-types.ts";
import type { NoteKind } from "../../parts/note.tsx";
import { countIn, formatAssets, formatCounts } from "../../parts/target-states.ts";

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
function isWaveDone({ wave, waves }: Pick<Waves, "wave" | "waves">): boolean {
  const current = waves[wave - 1];
  return current !== undefined && countIn(current.counts, NOT_OVER) === 0;
}

/** Whether a running rollout goes on only when a person lets the next wave begin. */
export function waitsForAdvance(rollout: Waves): boolean {
  const { state, wave, waves } = rollout;
  return state === "running" && wave < waves.length && waves[wave - 1]?.advance === "manual" && isWaveDone(rollout);
}

/** What people have to know about a rollout at once. */
export interface Verdict {
  readonly kind: NoteKind;
  readonly title: string;
  /** What happens now. */
  readonly now: string;
  /** What to do, if anything. */
  readonly advice?: string;
}

const UNDER_WAY: readonly TargetState[] = ["deploying", "soaking"];
const FAILED: readonly TargetState[] = ["failed", "lost"];
const NOT_BEGUN: readonly TargetState[] = ["pending", "waiting"];

/** Says in words how a rollout is, what happens now and what to do. The service's own reason is shown beside it. */
export function describeRollout(rollout: ShownRollout): Verdict {
  const { state, revision, counts, targets } = rollout;
  const left = countIn(counts, NOT_BEGUN);
  switch (state) {
    case "draft":
      return {
        kind: "info",
        title: "This rollout has not started.",
        now: "Nothing is sent to any asset.",
        advice: `Start it to bring revision ${revision} to ${formatAssets(targets)}.`,
      };
    case "awaiting_approval":
      return {
        kind: "warn",
        title: "This rollout awaits approval.",
        now: "Nothing is sent to any asset.",
        advice: "A person other than its maker has to approve it.",
      };
    case "running":
      return describeRunning(rollout);
    case "paused":
      return describePaused(rollout);
    case "rolling_back":
      return {
        kind: "warn",
        title: `Going back to ${formatGoal(rollout)}.`,
        now: `${formatAssets(countIn(counts, [...UNDER_WAY, ...NOT_BEGUN]))} still to go back; ${counts.rolled_back ?? 0} are back.`,
      };
    case "rolled_back":
      return {
        kind: "warn",
        title: `This rollout went back to ${formatGoal(rollout)}.`,
        now: `In the end: ${formatCounts(counts)}.`,
        advice: "Make a new revision with the fault removed, and roll it out.",
      };
    case "succeeded":
      return {
        kind: "good",
        title: `Revision ${revision} is the stable revision of the fleet.`,
        now: `In the end: ${formatCounts(counts)}.`,
      };
    case "failed":
      return {
        kind: "bad",
        title: "This rollout failed.",
        now: `In the end: ${formatCounts(counts)}. Nothing more happens by itself.`,
        advice: "Read why assets failed, make a new revision with the fault removed, and roll it out.",
      };
    case "cancelled":
    case "superseded":
      return {
        kind: "info",
        title:
          state === "cancelled" ? "This rollout was cancelled." : "A newer rollout has taken the place of this one.",
        now: `Assets keep what they have: ${formatCounts(counts)}.${left > 0 ? ` ${formatAssets(left)} had not begun.` : ""}`,
      };
  }
}

function describeRunning(rollout: ShownRollout): Verdict {
  const { wave, waves, counts } = rollout;
  const next = waves[wave];
  if (next && waitsForAdvance(rollout)) {
    return {
      kind: "warn",
      title: `Wave ${wave} is done. Wave ${wave + 1} waits until a person lets it begin.`,
      now: `Nothing is sent to the ${formatAssets(next.targets)} of wave ${wave + 1}.`,
      advice: "Look at what has succeeded, then let the next wave begin.",
    };
  }
  const underWay = countIn(counts, UNDER_WAY);
  const waiting = counts.waiting ?? 0;
  return {
    kind: "info",
    title: `Wave ${wave} of ${waves.length} is under way.`,
    now: `${formatAssets(underWay)} under way${waiting > 0 ? `, ${waiting} waiting` : ""}${isWaveDone(rollout) ? "; the next wave begins" : ""}.`,
  };
}

function describePaused(rollout: ShownRollout): Verdict {
  const { counts, state } = rollout;
  const underWay = countIn(counts, UNDER_WAY);
  const failed = countIn(counts, FAILED);
  const left = countIn(counts, NOT_BEGUN);
  const ends = underWay > 0 ? ` Deployments under way on ${formatAssets(underWay)} end first.` : "";
  return {
    kind: failed > 0 ? "bad" : "warn",
    title: failed > 0 ? `Stopped: ${formatAssets(failed)} failed.` : `This rollout is ${state}.`,
    now: `${left === 0 ? "No asset is left to begin." : `Nothing begins on the ${formatAssets(left)} left.`}${ends}`,
    advice:
      failed > 0
        ? `Read below why they failed. Roll back to go to ${formatGoal(rollout)} where it was attempted, or resume: failures so far do not stop it again.`
        : "Resume it to go on.",
  };
}

/** What going back leads to. */
export function formatGoal({ previous_revision: previous }: Pick<ShownRollout, "previous_revision">): string {
  return previous === null ? "where the fleet's apps were not there" : `revision ${previous}`;
}

/** Whether a rollout still changes by itself or by a command. */
export function isOpen(rollout: Pick<ShownRollout, "state">): boolean {
  return !isRolloutOver(rollout);
}
