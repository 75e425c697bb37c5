import { accessSync, constants, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { isVersion } from "../../protocol/agents/version-order.ts";

/** Starts of a version on trial without a confirmation, after which the device goes back. The launcher has the same number. */
export const MAX_TRIAL_STARTS = 3;
/** The timer of a trial counts in steps of this length: edge-agent-trial.timer. */
export const TRIAL_TICK_S = 30;

/** The version on trial. */
export interface Trial {
  readonly version: string;
  /** How often it was started. */
  readonly starts: number;
  /** How many times this release has been on trial, with this one. */
  readonly attempt: number;
  readonly ticks: number;
  /** Ticks after which the trial is over. */
  readonly maxTicks: number;
}

/** Why a version was set aside: `crashed`, `unconfirmed`, `unwritable`, `pinned`, `cancelled`. */
export interface SetAside {
  readonly attempt: number;
  readonly reason: string;
}

/** The control plane's deployment that has put a version on trial. */
export interface TrialDeployment {
  readonly version: string;
  readonly id: string;
  /** Id of its request to the updater. */
  readonly request: string;
}

/** What the folder of releases says. A part that cannot be read is absent: the launcher then starts the package's version. */
export interface ReleasesState {
  /** Versions that are unpacked. */
  readonly installed: readonly string[];
  /** The version that was confirmed last. */
  readonly current: string | undefined;
  readonly trial: Trial | undefined;
  /** What a person has chosen: a version, or `package`. */
  readonly pin: string | undefined;
  readonly setAside: ReadonlyMap<string, SetAside>;
  /** Of the last trial; `undefined` if a person has begun that, or there was none. */
  readonly deployment: TrialDeployment | undefined;
}

/** Where the versions of a device are: that of its package, and releases beside it. */
export interface VersionFolders {
  readonly packageFolder: string;
  readonly releasesFolder: string;
}

export function readReleases(folder: string): ReleasesState {
  const names = list(folder);
  const trial = linkTarget(join(folder, "trial"));
  const starts = countersOf(folder, "starts", trial);
  const ticks = countersOf(folder, "ticks", trial);
  const setAside = list(join(folder, "set-aside")).filter(isVersion);
  return {
    installed: names.filter(isVersion).toSorted(),
    current: linkTarget(join(folder, "current")),
    trial:
      trial === undefined
        ? undefined
        : {
            version: trial,
            starts: starts[0] ?? 0,
            attempt: starts[1] ?? 1,
            ticks: ticks[0] ?? 0,
            maxTicks: ticks[1] ?? MAX_TRIAL_TICKS,
          },
    pin: pinOf(folder),
    setAside: new Map(setAside.map((version) => [version, setAsideOf(folder, version)])),
    deployment: deploymentOf(folder),
  };
}

/** Ticks of a trial whose record is lost. */
const MAX_TRIAL_TICKS = 30;

/**
 * Returns the version that the launcher starts, or `package`: the pin, the version on trial, the current one, as far as
 * it is there. `packaging/select-release` does the same in the shell.
 */
export function versionToStart(folder: string, { pin, trial, current }: ReleasesState): string {
  if (pin === "package") return "package";
  const wanted = [pin, trial?.version, current];
  return wanted.find((version) => version !== undefined && isStartable(folder, version)) ?? "package";
}

function isStartable(folder: string, version: string): boolean {
  return isVersion(version) && ["edge-agent", "node"].every((name) => isExecutable(join(folder, version, name)));
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Counters are of one version: those that an earlier trial has left count for nothing. */
function countersOf(folder: string, name: string, version: string | undefined): number[] {
  const [whose, ...counts] = firstLine(join(folder, name))?.split(" ") ?? [];
  return whose === version ? counts.map(Number).filter(Number.isSafeInteger) : [];
}

function setAsideOf(folder: string, version: string): SetAside {
  const [attempt = "", reason = "unknown"] = firstLine(join(folder, "set-aside", version))?.split(" ") ?? [];
  return { attempt: Number(attempt) || 1, reason };
}

function deploymentOf(folder: string): TrialDeployment | undefined {
  const [version = "", id = "", request = ""] = firstLine(join(folder, "deployment"))?.split(" ") ?? [];
  return isVersion(version) && id !== "" && request !== "" ? { version, id, request } : undefined;
}

function linkTarget(path: string): string | undefined {
  try {
    const target = readlinkSync(path);
    return isVersion(target) ? target : undefined;
  } catch {
    return undefined;
  }
}

/** As the launcher has it, an empty file and `none` are no pin. */
function pinOf(folder: string): string | undefined {
  const pin = firstLine(join(folder, "pin"));
  return pin === "" || pin === "none" ? undefined : pin;
}

function firstLine(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").split("\n")[0];
  } catch {
    return undefined;
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
