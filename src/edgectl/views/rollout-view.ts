import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderFields, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatDuration, formatTime } from "../../lib/terminal/time.ts";
import type { Rollout, Target } from "../api/rollouts.ts";
import { countsText, waitingText } from "./rollout-words.ts";

const GOOD = new Set(["succeeded", "running"]);
const BAD = new Set(["failed", "lost", "rolled_back", "rolling_back"]);

/** Paints the state of a rollout or a target. */
function paintState(text: string, state: string, theme: Theme): string {
  if (GOOD.has(state)) return theme.green(text);
  return BAD.has(state) ? theme.red(text) : text;
}

export function renderRollouts(rollouts: readonly Rollout[], theme: Theme, width: number | undefined): string {
  if (rollouts.length === 0) return "No rollouts.";
  const columns: Column<Rollout>[] = [
    { header: "ID", cell: ({ id }) => sanitizeLine(id) },
    { header: "REVISION", cell: ({ revision }) => String(revision), align: "right" },
    {
      header: "STATE",
      cell: ({ state }) => sanitizeLine(state),
      paint: (text, { state }) => paintState(text, state, theme),
    },
    { header: "WAVE", cell: ({ wave, waves }) => `${wave}/${waves.length}`, align: "right" },
    { header: "ASSETS", cell: ({ targets }) => String(targets), align: "right" },
    { header: "COUNTS", cell: ({ counts }) => sanitizeLine(countsText(counts)), canShrink: true },
    { header: "WAITING", cell: (rollout) => sanitizeLine(shortWaits(rollout)), canShrink: true },
    { header: "CREATED", cell: ({ created_at: at }) => formatTime(at) },
  ];
  return renderTable(columns, rollouts, theme, width);
}

/** What it waits for, without times: people are marked. */
function shortWaits({ waiting_for: waiting, waits_for_people: isForPeople }: Rollout): string {
  const names = waiting.map(({ for: reason, count }) => `${count} ${reason}`).join(", ");
  return names === "" ? "-" : isForPeople ? `for you: ${names}` : names;
}

const timeOr = (at: number | null): string => (at === null ? "-" : `${formatTime(at)} UTC`);

export function renderRollout(rollout: Rollout, theme: Theme, width: number | undefined): string {
  const { previous_revision: previous, created_by: maker, approved_by: approver, state } = rollout;
  const fields: [string, string][] = [
    ["Rollout", sanitizeLine(rollout.id)],
    ["Fleet", sanitizeLine(rollout.fleet)],
    ...(rollout.retry_of === null ? [] : [["Retry of", sanitizeLine(rollout.retry_of)] satisfies [string, string]]),
    ["Revision", `${rollout.revision} (before: ${previous ?? "none"})`],
    ["State", paintState(sanitizeLine(state), state, theme)],
    ["Reason", sanitizeLine(rollout.reason ?? "-")],
    ["Waiting", sanitizeLine(waitingText(rollout.waiting_for) || "-")],
    ["Assets", `${rollout.targets}: ${sanitizeLine(countsText(rollout.counts))}`],
    ["Failures", sanitizeLine(failuresText(rollout))],
    ["Created", `${formatTime(rollout.created_at)} UTC by ${sanitizeLine(maker.name ?? maker.id)}`],
    ["Approved by", sanitizeLine(approver ? (approver.name ?? approver.id) : "-")],
    ["Started", timeOr(rollout.started_at)],
    ["Finished", timeOr(rollout.finished_at)],
  ];
  return `${renderFields(fields, theme)}\n\n${renderWaves(rollout, theme, width)}`;
}

function renderWaves({ waves, wave: current }: Rollout, theme: Theme, width: number | undefined): string {
  const columns: Column<Rollout["waves"][number]>[] = [
    { header: "WAVE", cell: ({ wave }) => (wave === current ? `> ${wave}` : String(wave)), align: "right" },
    { header: "ASSETS", cell: ({ targets }) => String(targets), align: "right" },
    { header: "SOAK", cell: ({ soak_s: soak }) => formatDuration(soak), align: "right" },
    { header: "NEXT", cell: ({ wave, advance }) => (wave === waves.length ? "-" : sanitizeLine(advance)) },
    { header: "COUNTS", cell: ({ counts }) => sanitizeLine(countsText(counts)), canShrink: true },
  ];
  return renderTable(columns, waves, theme, width);
}

export function renderTargets(targets: readonly Target[], theme: Theme, width: number | undefined): string {
  if (targets.length === 0) return "No targets.";
  const columns: Column<Target>[] = [
    { header: "SERIAL", cell: ({ serial_number: serial }) => sanitizeLine(serial), canShrink: true },
    { header: "NAME", cell: ({ asset_name: name }) => sanitizeLine(name), canShrink: true },
    { header: "WAVE", cell: ({ wave }) => String(wave), align: "right" },
    { header: "STATE", cell: stateOf, paint: (text, { state }) => paintState(text, state, theme) },
    { header: "TRIES", cell: triesOf, align: "right" },
    { header: "SINCE", cell: ({ since }) => formatTime(since) },
    { header: "CODE", cell: ({ code }) => sanitizeLine(code ?? "-") },
    { header: "DEPLOYMENT", cell: ({ deployment_id: id }) => sanitizeLine(id ?? "-") },
    { header: "MESSAGE", cell: ({ message }) => sanitizeLine(message ?? "-"), canShrink: true },
  ];
  const past = targets.filter(({ attempts }) => attempts.length > 0);
  return [renderTable(columns, targets, theme, width), ...past.map((target) => renderPast(target, theme))].join("\n\n");
}

/** Such as `2`; `2+1` where two deployments of the revision were followed by one to go back. */
function triesOf({ direction, attempt, attempts }: Target): string {
  const tried = (way: string): number =>
    Math.max(
      direction === way ? attempt : 0,
      ...attempts.filter((past) => past.direction === way).map((past) => past.attempt),
    );
  const back = tried("back");
  return back === 0 ? String(tried("forward")) : `${tried("forward")}+${back}`;
}

/** Renders what a target went through, an attempt a line, with the last lines of its output. */
function renderPast({ asset_name: name, attempts }: Target, theme: Theme): string {
  const lines = attempts.flatMap(
    ({ direction, attempt, state, code, message, deployment_id: id, ended_at: at, logs }) => {
      const parts = [
        formatTime(at),
        `attempt ${attempt}${direction === "back" ? " back" : ""}`,
        state,
        code,
        id,
        message,
      ];
      const output = (logs ?? "")
        .split("\n")
        .filter((line) => line !== "")
        .slice(-MAX_SHOWN_LINES);
      return [
        `  ${sanitizeLine(parts.filter((part) => part !== undefined).join("  "))}`,
        ...output.map((line) => theme.dim(`    | ${sanitizeLine(line)}`)),
      ];
    },
  );
  return [theme.bold(sanitizeLine(name)), ...lines].join("\n");
}

const MAX_SHOWN_LINES = 5;

/** Such as `3 attempts on 2 assets: CrashLoopBackOff 2, Unhealthy 1`. */
function failuresText({ failures }: Rollout): string {
  const attempts = failures.reduce((total, each) => total + each.attempts, 0);
  if (attempts === 0) return "none";
  const codes = failures.map(({ code, attempts: count }) => `${code ?? "not what was deployed"} ${count}`).join(", ");
  return `${attempts} ${attempts === 1 ? "attempt" : "attempts"}: ${codes}`;
}

function stateOf({ state, for: reason, until }: Target): string {
  if (reason === undefined) return sanitizeLine(state);
  return sanitizeLine(`${state} for ${reason}${until === undefined ? "" : ` until ${formatTime(until)}`}`);
}
