import type { TargetState } from "../../../protocol/fleets/rollout.ts";
import { countIn, formatAssets, formatCounts } from "../../parts/target-states.ts";
import { formatGoal, type ShownRollout, waitsForAdvance } from "./verdict.ts";

export type CommandName = "approve" | "resume" | "advance" | "pause" | "rollback" | "cancel";

/** A command that the rollout's state permits, with the question that comes before it. */
export interface Command {
  readonly name: CommandName;
  readonly label: string;
  readonly question: string;
  /** What it touches, in numbers. */
  readonly effect: string;
  /** Whether it is what usually comes next. */
  readonly isMain: boolean;
  /** Whether it ends the rollout or takes it back. */
  readonly isDanger: boolean;
}

const UNDER_WAY: readonly TargetState[] = ["deploying", "soaking"];
const NOT_BEGUN: readonly TargetState[] = ["pending", "waiting"];
/** Those on which a deployment of the rollout was begun; the counts do not say it of waiting ones. */
const ATTEMPTED: readonly TargetState[] = ["failed", "lost", "deploying", "soaking", "succeeded"];

/** Returns the commands that a rollout's state permits, with what each one touches. */
export function commandsFor(rollout: ShownRollout): readonly Command[] {
  switch (rollout.state) {
    case "draft":
      return [start(rollout, "resume", "Start", "Start the rollout?"), cancel(rollout)];
    case "awaiting_approval":
      return [start(rollout, "approve", "Approve", "Approve and start the rollout?"), cancel(rollout)];
    case "running":
      return [...advance(rollout), pause(rollout), rollBack(rollout), cancel(rollout)];
    case "paused":
      return [rollBack(rollout), resume(rollout), ...advance(rollout), cancel(rollout)];
    case "succeeded":
    case "failed":
    case "cancelled":
    case "superseded":
    case "rolling_back":
    case "rolled_back":
      return [];
  }
}

function start(rollout: ShownRollout, name: CommandName, label: string, question: string): Command {
  const { targets, waves, revision } = rollout;
  const sizes = waves.map((wave) => wave.targets.toLocaleString("en")).join(", then ");
  const effect = `Revision ${revision} goes to ${formatAssets(targets)}${waves.length > 1 ? ` in ${waves.length} waves: ${sizes}` : ""}.`;
  return { name, label, question, effect, isMain: true, isDanger: false };
}

function pause({ counts }: ShownRollout): Command {
  const effect = `Nothing begins on the ${formatAssets(countIn(counts, NOT_BEGUN))} left. Deployments under way on ${formatAssets(countIn(counts, UNDER_WAY))} end.`;
  return { name: "pause", label: "Pause", question: "Pause the rollout?", effect, isMain: false, isDanger: false };
}

function resume({ counts }: ShownRollout): Command {
  const failed = countIn(counts, ["failed", "lost"]);
  const accepted = failed > 0 ? ` The ${failed} that failed so far do not stop it again.` : "";
  const effect = `It goes on with ${formatAssets(countIn(counts, [...NOT_BEGUN, ...UNDER_WAY]))}.${accepted}`;
  return { name: "resume", label: "Resume", question: "Resume the rollout?", effect, isMain: false, isDanger: false };
}

function advance(rollout: ShownRollout): readonly Command[] {
  const { wave, waves } = rollout;
  const next = waves[wave];
  if (!next) return [];
  const question = `Let wave ${wave + 1} begin?`;
  const effect = `Wave ${wave + 1} has ${formatAssets(next.targets)}. It begins once nothing of wave ${wave} is under way.`;
  const label = `Begin wave ${wave + 1}`;
  return [{ name: "advance", label, question, effect, isMain: waitsForAdvance(rollout), isDanger: false }];
}

function rollBack(rollout: ShownRollout): Command {
  const { counts, state, previous_revision: previous } = rollout;
  const touched = countIn(counts, ATTEMPTED);
  const which = touched === 0 ? "" : `: ${formatCounts(counts, ATTEMPTED)}`;
  const waiting = countIn(counts, ["waiting"]);
  const maybe = waiting > 0 ? ` Of the ${waiting} waiting, those that were attempted go back as well.` : "";
  const goal = previous === null ? " The fleet's apps are removed from them." : ` They get ${formatGoal(rollout)}.`;
  return {
    name: "rollback",
    label: "Roll back",
    question:
      previous === null ? "Roll back to before the fleet's first revision?" : `Roll back to ${formatGoal(rollout)}?`,
    effect: `Going back touches ${formatAssets(touched)}${which}.${maybe}${touched > 0 ? goal : ""}`,
    isMain: state === "paused",
    isDanger: true,
  };
}

function cancel({ counts }: ShownRollout): Command {
  const left = countIn(counts, NOT_BEGUN);
  const underWay = countIn(counts, UNDER_WAY);
  const effect = `${formatAssets(left)} left get nothing of it. Deployments under way on ${formatAssets(underWay)} end, and nothing goes back: ${formatAssets(counts.succeeded ?? 0)} keep the revision.`;
  return { name: "cancel", label: "Cancel", question: "Cancel the rollout?", effect, isMain: false, isDanger: true };
}
