import type { RolloutStrategy, RolloutWaveStrategy, RolloutWindow } from "../../../protocol/api-types.ts";
import { formatBytes } from "../../parts/format-bytes.ts";
import { formatDuration } from "../../parts/durations.ts";
import { countOf } from "../../../protocol/values/share.ts";

/** Describes a strategy in sentences. */
export function describeStrategy(strategy: RolloutStrategy): readonly string[] {
  const { waves, soak_s: soak, max_parallel: parallel, stop_when: stop, on_stop: onStop, attempts } = strategy;
  const {
    windows,
    download_windows: downloadWindows,
    max_download_bytes: maxBytes,
    requires_approval: needs,
  } = strategy;
  return [
    ...waves.map(
      (wave, index) =>
        `Wave ${index + 1}: ${describeMembers(wave)}, ${soakOf(wave.soak_s)}, then ${wave.advance === "manual" ? "a person lets the next one begin" : "the next one begins by itself"}.`,
    ),
    `${waves.length === 0 ? "One wave: all assets" : "Last wave: all others"}, ${soakOf(soak)}.`,
    `At most ${parallel.toLocaleString("en")} at a time, ${attempts === 1 ? "1 attempt" : `up to ${attempts} attempts`} on each.`,
    `Stops when ${share(stop.failed)} failed${typeof stop.failed === "number" ? "" : `, once ${stop.min_attempted} have ended`}; then it ${onStop === "pause" ? "pauses" : "rolls back by itself"}.`,
    ...(windows.length > 0 ? [`Begins only ${describeWindows(windows)}.`] : []),
    ...(downloadWindows.length > 0 ? [`Downloads only ${describeWindows(downloadWindows)}.`] : []),
    ...(maxBytes === undefined ? [] : [`At most ${formatBytes(maxBytes)} of download on each asset.`]),
    ...(strategy.done_at === "100%"
      ? []
      : [`Ends once ${share(strategy.done_at)} have succeeded; upkeep serves the rest.`]),
    ...(strategy.refused === "allow" ? ["Assets may refuse it."] : []),
    ...(needs ? ["Another person has to approve each rollout."] : []),
  ];
}

function describeMembers({ limit, selector, by, assets = [] }: RolloutStrategy["waves"][number]): string {
  const parts = [
    ...(assets.length > 0 ? [assets.join(", ")] : []),
    ...(limit === undefined ? [] : [`up to ${share(limit)}`]),
    ...(selector === undefined ? [] : [`with ${selector}`]),
    ...(by === undefined ? [] : [limit === undefined ? `one of each ${by}` : `one of each ${by} first`]),
  ];
  return parts.join(", ");
}

const DAYS_OF_WEEK = 7;

/** Formats windows: `mon, tue 02:00–05:00 (time of the device)`. */
function describeWindows(windows: readonly RolloutWindow[]): string {
  return windows
    .map(
      ({ days, from, to, zone }) =>
        `${days.length === DAYS_OF_WEEK ? "every day" : days.join(", ")} ${from}–${to} (${zone === "device" ? "time of the device" : zone})`,
    )
    .join(" and ");
}

function share(of: number | string): string {
  return typeof of === "number" ? `${of.toLocaleString("en")} ${of === 1 ? "asset" : "assets"}` : `${of} of the assets`;
}

function soakOf(seconds: number): string {
  return seconds === 0 ? "no soak" : `soak ${formatDuration(seconds)}`;
}

interface WaveSize {
  readonly targets: number;
  /** Whether it may have fewer: its selector leaves some out. */
  readonly isUpperBound: boolean;
}

/** Returns how many assets each wave has when a rollout starts now, with the last wave, which has all others. */
export function waveSizes(waves: readonly RolloutWaveStrategy[], members: number): readonly WaveSize[] {
  let before = 0;
  const sizes = waves.map(({ limit, selector, assets = [] }): WaveSize => {
    // Without a limit it is what it names, or one asset of each value of its tag, of which the service knows the number.
    const until = limit === undefined ? before + (assets.length || members) : countOf(limit, members);
    const targets = Math.max(before, Math.min(members, until)) - before;
    if (limit !== undefined || assets.length > 0) before += targets;
    return { targets, isUpperBound: selector !== undefined || (limit === undefined && assets.length === 0) };
  });
  const isRestricted = sizes.some(({ isUpperBound }) => isUpperBound);
  return [...sizes, { targets: isRestricted ? members : members - before, isUpperBound: isRestricted }];
}
