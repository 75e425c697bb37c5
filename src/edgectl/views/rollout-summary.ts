import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { formatDuration, formatTime } from "../../lib/terminal/time.ts";
import type { Rollout, Target } from "../api/rollouts.ts";
import { assets, countsText } from "./rollout-words.ts";

/** Assets of each reason that the text names. */
const MAX_NAMED = 10;
const MAX_LINES = 5;

/** Renders what became of a rollout as plain text, without colours and columns: it is sent to people. */
export function renderSummary(rollout: Rollout, failed: readonly Target[]): string {
  const { id, fleet, revision, previous_revision: previous, state, reason, created_by: maker, counts } = rollout;
  const { started_at: from, finished_at: to, retry_of: retried } = rollout;
  const time =
    from === null
      ? "It was not started."
      : `Started ${formatTime(from)} UTC${to === null ? ", not over yet" : `, ended ${formatTime(to)} UTC, after ${formatDuration(to - from)}`}.`;
  const head = [
    `Rollout of revision ${revision} of the fleet ${fleet} (${id}): ${state.replaceAll("_", " ")}`,
    ...(retried === null ? [] : [`It retries what failed in ${retried}.`]),
    `Made by ${maker.name ?? maker.id}. ${time}`,
    `Before: ${previous === null ? "no revision" : `revision ${previous}`}. ${assets(rollout.targets)}: ${countsText(counts)}.`,
    ...(reason === null ? [] : [reason]),
  ];
  const byCode = [...Map.groupBy(failed, reasonOf)].toSorted(([, one], [, other]) => other.length - one.length);
  const parts = byCode.map(([code, all]) => renderReason(code, all));
  const next = failed.length > 0 && to !== null ? [`To retry only these: edgectl rollouts retry ${fleet} ${id}`] : [];
  return [head.map((line) => sanitizeLine(line)).join("\n"), ...parts, ...next.map((line) => sanitizeLine(line))].join(
    "\n\n",
  );
}

/** The code of the last attempt that failed, which its message belongs to; without one, that of the target. */
function reasonOf({ attempts, code, state }: Target): string {
  const past = lastFailure({ attempts });
  return past ? (past.code ?? past.state) : (code ?? state);
}

function lastFailure({ attempts }: Pick<Target, "attempts">): Target["attempts"][number] | undefined {
  return attempts.findLast(({ direction, state }) => direction === "forward" && state !== "succeeded");
}

function renderReason(code: string, targets: readonly Target[]): string {
  const lines = targets.slice(0, MAX_NAMED).flatMap((target) => {
    const { serial_number: serial, asset_name: name, state, attempts, message } = target;
    const past = lastFailure(target);
    const tries = attempts.filter(({ direction }) => direction === "forward").length;
    const told = [past?.message ?? message, past?.deployment_id].filter((part) => part !== undefined).join(" ");
    const output = (past?.logs ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .slice(-MAX_LINES);
    const called = name === serial ? serial : `${serial} (${name})`;
    const line = `- ${called}, now ${state.replaceAll("_", " ")}, ${tries} attempt${tries === 1 ? "" : "s"}: ${told}`;
    return [line].concat(output.map((each) => `    | ${each}`));
  });
  const more = targets.length > MAX_NAMED ? [`- and ${targets.length - MAX_NAMED} more`] : [];
  return [`${code}: ${assets(targets.length)}`, ...lines, ...more].map((line) => sanitizeLine(line)).join("\n");
}
