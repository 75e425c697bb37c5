import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderFields, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatDuration, formatTime } from "../../lib/terminal/time.ts";
import type { Rollout, Target } from "../api/rollouts.ts";
import { assets, countsText, foreseenText, waitingText } from "./rollout-words.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import type { AssetPrice, Price } from "../api/rollout-streams.ts";

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

/** Assets that are listed. More are counted; `--json` has all. */
const MAX_LISTED = 50;

/** Renders the price of a rollout: the waves, then each asset, by wave and the largest download first. */
export function renderPrice(
  price: Price,
  asked: readonly AssetPrice[],
  { fleet, asksDevices }: { readonly fleet: string; readonly asksDevices: boolean },
  theme: Theme,
  width: number | undefined,
): string {
  const waves = price.waves.map(({ wave, targets }) => `Wave ${wave} of ${price.waves.length}: ${assets(targets)}`);
  const sums = [
    ...(asksDevices
      ? [`To download: ${formatBytes(price.download_bytes)} in all, on ${price.asked} of ${assets(price.targets)}`]
      : []),
    ...(asksDevices && price.not_asked > 0 ? [`Not asked: ${assets(price.not_asked)}`] : []),
    ...[foreseenText(price.foreseen)].filter((text) => text !== "").map((text) => theme.yellow(sanitizeLine(text))),
    ...(price.refused > 0 ? [theme.yellow(`Refused, or did not answer: ${assets(price.refused)}`)] : []),
    `To start just this, until ${formatTime(price.expires_at)} UTC:`,
    `  edgectl rollouts create ${fleet} --plan ${sanitizeLine(price.plan_id)}`,
  ];
  const sorted = sortByPrice(asked);
  if (sorted.length === 0) return [...waves, ...sums].join("\n");
  const listed = sorted.slice(0, MAX_LISTED);
  const more =
    sorted.length > listed.length ? [`… and ${assets(sorted.length - listed.length)} more; --json has all`] : [];
  return [...waves, "", renderTable(COLUMNS, listed, theme, width), ...more, "", ...sums].join("\n");
}

/** By wave; in each the largest download first, then those that have not told one. */
export function sortByPrice(asked: readonly AssetPrice[]): AssetPrice[] {
  return asked.toSorted(
    (one, other) =>
      one.wave - other.wave ||
      (other.download_bytes ?? -1) - (one.download_bytes ?? -1) ||
      one.asset_name.localeCompare(other.asset_name),
  );
}

const COLUMNS: readonly Column<AssetPrice>[] = [
  { header: "SERIAL", cell: ({ serial_number: serial }) => sanitizeLine(serial), canShrink: true },
  { header: "NAME", cell: ({ asset_name: name }) => sanitizeLine(name), canShrink: true },
  { header: "WAVE", cell: ({ wave }) => String(wave), align: "right" },
  {
    header: "DOWNLOAD",
    cell: ({ download_bytes: bytes }) => (bytes === undefined ? "-" : formatBytes(bytes)),
    align: "right",
  },
  { header: "WAITS FOR", cell: ({ for: reason }) => sanitizeLine(reason ?? "-") },
  { header: "CODE", cell: ({ code }) => sanitizeLine(code ?? "-") },
  { header: "MESSAGE", cell: ({ message }) => sanitizeLine(message ?? "-"), canShrink: true },
];
