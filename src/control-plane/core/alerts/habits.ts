/*
 * What is remembered of each device so that alerts know its habits: how often it connects, and how long it is gone at times.
 */

/** Connections an hour above which a device flaps. */
const FLAPPING_PER_HOUR = 10;
/** It no longer does at half of that. */
const CALM_LEVEL = FLAPPING_PER_HOUR / 2;
/** So that a device that has flapped for a day is calm within hours. */
const MAX_LEVEL = 2 * FLAPPING_PER_HOUR;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Pauses shorter than this are no habit. */
const MIN_PAUSE_MS = 15 * 60_000;
const MAX_PAUSES = 8;
const PAUSE_MEMORY_MS = 14 * DAY_MS;
/** As many are a habit. */
const HABIT = 3;
/** Longest absence that is held to be usual. */
const MAX_USUAL_PAUSE_MS = 3 * DAY_MS;

/** Times are Unix milliseconds. */
export interface DeviceHabits {
  /** Number of the last session that was counted; `undefined`: none. */
  readonly epoch: number | undefined;
  /** Connections that were counted, less those that time has taken away. */
  readonly level: number;
  readonly levelAtMs: number;
  /** Until when the device flaps, unless it connects again. */
  readonly flapsUntilMs: number;
  /** Since when it is gone; `undefined`: it is connected. */
  readonly awaySinceMs: number | undefined;
  /** End and length of the last long pauses, oldest first. */
  readonly pauses: readonly (readonly [endMs: number, lengthMs: number])[];
}

export const NO_HABITS: DeviceHabits = {
  epoch: undefined,
  level: 0,
  levelAtMs: 0,
  flapsUntilMs: 0,
  awaySinceMs: undefined,
  pauses: [],
};

/** How the device is found now. */
export interface DeviceSample {
  /** Number of its last session: rises by one with each. */
  readonly epoch: number;
  /** When it was last seen, if it is not connected. */
  readonly awaySinceMs: number | undefined;
}

/**
 * Returns the habits after another look at the device.
 *
 * @param isWatched whether the service has run all the time since the last look: its own absence is no habit of the device
 */
export function learn(habits: DeviceHabits, sample: DeviceSample, nowMs: number, isWatched: boolean): DeviceHabits {
  const sessions = habits.epoch === undefined || !isWatched ? 0 : Math.max(0, sample.epoch - habits.epoch);
  const elapsed = Math.max(0, nowMs - habits.levelAtMs);
  const level = Math.min(MAX_LEVEL, Math.max(0, habits.level - (elapsed * FLAPPING_PER_HOUR) / HOUR_MS) + sessions);
  const flaps = level >= FLAPPING_PER_HOUR || (habits.flapsUntilMs > nowMs && level > CALM_LEVEL);
  const flapsUntilMs = flaps ? nowMs + Math.ceil(((level - CALM_LEVEL) * HOUR_MS) / FLAPPING_PER_HOUR) : 0;
  const hasReturned = habits.awaySinceMs !== undefined && sample.epoch !== habits.epoch;
  const pause = hasReturned && isWatched ? nowMs - (habits.awaySinceMs ?? nowMs) : 0;
  const pauses = pause >= MIN_PAUSE_MS ? [...habits.pauses, [nowMs, pause] as const].slice(-MAX_PAUSES) : habits.pauses;
  return { epoch: sample.epoch, level, levelAtMs: nowMs, flapsUntilMs, awaySinceMs: sample.awaySinceMs, pauses };
}

/** Returns the longest of the pauses that the device makes again and again; `undefined` if it does not. */
export function usualPauseMs(pauses: DeviceHabits["pauses"], nowMs: number): number | undefined {
  const recent = pauses.filter(([endMs]) => nowMs - endMs <= PAUSE_MEMORY_MS).map(([, lengthMs]) => lengthMs);
  return recent.length < HABIT ? undefined : Math.min(MAX_USUAL_PAUSE_MS, Math.max(...recent));
}

/** A time in which the service itself did not run. Unix milliseconds. */
export interface Outage {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Returns since when a device is gone that was last seen at a time. One that was there until the service went is counted from the
 * service's return: how it was meanwhile is unknown.
 */
export function absentSinceMs(lastSeenMs: number, { fromMs, untilMs }: Outage): number {
  return lastSeenMs >= fromMs && lastSeenMs < untilMs ? untilMs : lastSeenMs;
}
