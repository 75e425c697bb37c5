import type { Failure } from "../records.ts";
import type { DeploymentStep } from "../../../protocol/deployments/deployment-event.ts";
import { formatTimeLeft, formatTimes } from "../text.ts";

/*
 * No input may make the agent loop. What the agent was working on when it ended uncleanly is blamed for that end, and is
 * not resumed for ever: a deployment is given up, work that must be done some time is done after growing pauses.
 */

/**
 * How the run of the agent before this one ended. `crash`: killed or failed while the machine ran on, as by the out-of-memory
 * killer or the watchdog. `power_cut`: the machine went down with it, by a power cut or a crash of its kernel. A run that
 * was asked to stop has ended cleanly.
 */
export type PreviousEnd = "clean" | "crash" | "power_cut";

/** Returns how the run before ended. @param last what it stored; `undefined` if there was none */
export function previousEnd(
  last: { readonly bootId: string; readonly isClean: boolean } | undefined,
  bootId: string,
): PreviousEnd {
  if (!last || last.isClean) return "clean";
  return last.bootId === bootId ? "crash" : "power_cut";
}

/** How often the agent has ended uncleanly during one piece of work. */
export interface CrashCount {
  readonly crashes: number;
  /** In a row, each within `POWER_CUT_WINDOW_MS` after the work was resumed. */
  readonly powerCuts: number;
}

export const NO_CRASHES: CrashCount = { crashes: 0, powerCuts: 0 };

/** A work that goes on for this long, in milliseconds, has not brought the machine down. */
export const POWER_CUT_WINDOW_MS = 10 * 60_000;

/**
 * Power cuts are common where a vehicle or a switch feeds the device, and are no fault of the agent. So many in a row, each
 * soon after the same work was resumed, count as caused by that work.
 */
export const MAX_POWER_CUTS = 10;

/** Returns the count after one more end. */
export function addEnd({ crashes, powerCuts }: CrashCount, end: PreviousEnd): CrashCount {
  return { crashes: crashes + Number(end === "crash"), powerCuts: powerCuts + Number(end === "power_cut") };
}

/**
 * Returns how many times the limit was reached: 0 to go on; 1 to give a deployment up; 2 if its rollback does the same, so
 * that nothing is restored; from 3 on its clean-up too has to pause.
 */
export function timesLimitReached({ crashes, powerCuts }: CrashCount, maxCrashes: number): number {
  return Math.max(Math.floor(crashes / maxCrashes), Math.floor(powerCuts / MAX_POWER_CUTS));
}

const MIN_PAUSE_MS = 5 * 60_000;
const MAX_PAUSE_MS = 6 * 60 * 60_000;

/**
 * Returns how long work has to wait after the start of the agent, in milliseconds: nothing until the limit was reached
 * `times` times, then twice as long with each further end.
 */
export function crashPauseMs({ crashes, powerCuts }: CrashCount, maxCrashes: number, times = 1): number {
  const excess = Math.max(crashes - times * maxCrashes, powerCuts - times * MAX_POWER_CUTS);
  return excess < 0 ? 0 : Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** Math.min(excess, 20));
}

/** Whether the work is resumed alone: a crash was during it, or so many power cuts that one more may be its doing. */
export function isSuspect({ crashes, powerCuts }: CrashCount): boolean {
  return crashes > 0 || powerCuts >= MAX_POWER_CUTS / 2;
}

/**
 * Returns the works in the order in which they are resumed: the most suspected first. The order of those that are equal is
 * turned around with each crash, so that another one of them is the last.
 *
 * @param works in the order in which they were accepted
 */
export function resumeOrder<T extends { readonly count: CrashCount }>(works: readonly T[]): T[] {
  const ends = ({ count }: T): number => count.crashes * MAX_POWER_CUTS + count.powerCuts;
  return works
    .map((work, index) => ({ work, index }))
    .toSorted((a, b) => {
      const direction = a.work.count.crashes % 2 === 1 ? -1 : 1;
      return ends(b.work) - ends(a.work) || direction * (a.index - b.index);
    })
    .map(({ work }) => work);
}

/** Describes the ends: `the agent crashed 3 times`. */
export function crashText({ crashes, powerCuts }: CrashCount): string {
  const cuts = `the device lost its power or restarted ${formatTimes(powerCuts)} in a row`;
  if (crashes === 0) return cuts;
  const text = `the agent crashed ${formatTimes(crashes)}`;
  return powerCuts < MAX_POWER_CUTS ? text : `${text}, and ${cuts}`;
}

/** Work that the agent has crashed during too often, and does not resume yet. */
export interface HeldWork {
  /** Such as `repair of web`. */
  readonly name: string;
  /** What happened: `the agent crashed 3 times`. */
  readonly text: string;
  /** Milliseconds until it is tried again. */
  readonly leftMs: number;
}

/** Describes what happened to the work, and when it is tried again. */
export function heldText({ name, text, leftMs }: HeldWork): string {
  return `${text} during the ${name}; it is tried again in ${formatTimeLeft(Math.ceil(leftMs / 1000))}`;
}

/** Returns the failure of a deployment that is given up. @param step the one it was in */
export function crashFailure(count: CrashCount, step: DeploymentStep): Failure {
  const text = crashText(count);
  return {
    code: "AgentCrashed",
    message: `The deployment was given up: ${text} during it.`,
    details: { agent_crashes: count.crashes, ...(count.powerCuts > 0 && { power_cuts: count.powerCuts }) },
    step,
  };
}
