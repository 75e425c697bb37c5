import { realpathSync } from "node:fs";
import { basename, dirname } from "node:path";
import { MAX_TRIAL_STARTS, type ReleasesState, type SetAside, TRIAL_TICK_S } from "../../lib/release/releases-state.ts";
import { formatDuration } from "../../lib/terminal/time.ts";

/** Returns the release that this process runs from; `package` if none. @param program path of the process's program */
export function runningRelease(program: string, releasesFolder: string): string {
  try {
    const folder = dirname(realpathSync(program));
    return dirname(folder) === releasesFolder ? basename(folder) : "package";
  } catch {
    return "package";
  }
}

const REASONS: Readonly<Record<string, string>> = {
  crashed: `it ended ${MAX_TRIAL_STARTS} times before it was confirmed`,
  unconfirmed: "it was not confirmed in time",
  unwritable: "its starts could not be recorded, since the disk cannot be written",
  pinned: "this device was pinned to another version",
  cancelled: "its update was cancelled",
};

/** Describes why a version was set aside, without a stop. */
export function describeSetAside({ reason, attempt }: SetAside): string {
  const text = REASONS[reason] ?? "for a reason that this version does not know";
  return attempt > 1 ? `${text}, ${attempt} times` : text;
}

/** Says what is particular about the versions of this device: sentences without a stop, none if the package's simply runs. */
export function releaseNotes(state: ReleasesState, running: string): string[] {
  const { trial, pin, setAside } = state;
  const left = trial && Math.max(0, trial.maxTicks - trial.ticks) * TRIAL_TICK_S;
  return [
    ...(running === "package" ? [] : [`release ${running} runs`]),
    ...(trial
      ? [
          `${trial.version} is on trial: start ${trial.starts} of ${MAX_TRIAL_STARTS}, ${formatDuration(left ?? 0)} left`,
        ]
      : []),
    ...(pin === undefined ? [] : [`pinned to ${pin}`]),
    ...[...setAside].map(([version, aside]) => `${version} is set aside: ${describeSetAside(aside)}`),
  ];
}
