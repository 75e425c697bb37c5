import { APP_REPORT_ROW_S, type AppHealthRow, appPointsOf, largestApps } from "../../protocol/link/app-health.ts";
import {
  type DeviceHealth,
  HEALTH_KEPT_S,
  type HealthParams,
  MAX_ANSWERED_APPS,
} from "../../protocol/link/device-health.ts";
import { MAX_LEVELS_S } from "../../protocol/alerts/condition.ts";
import { combineRows, type HealthRow, pointsOf } from "../../protocol/link/health-points.ts";

const DAY_S = 86_400;
/** Seconds that a row of an old day covers. */
export const OLD_HEALTH_ROW_S = 3_600;

/** A device cannot have older rows: it keeps them for 48 hours. The rest is for a clock that is slow. */
export const MAX_HEALTH_AGE_S = HEALTH_KEPT_S + DAY_S;
/** For a clock that is fast. */
export const MAX_HEALTH_AHEAD_S = 900;

/** Returns the rows whose times can be true: a clock that was wrong must not fill other years. */
export function plausibleRows<Row extends { readonly at: number }>(rows: readonly Row[], now: number): readonly Row[] {
  return rows.filter(({ at }) => at > now - MAX_HEALTH_AGE_S && at <= now + MAX_HEALTH_AHEAD_S);
}

/** Number of the day since 1970, UTC. */
export function dayOf(at: number): number {
  return Math.floor(at / DAY_S);
}

/** Returns the rows of a day with those that are new, in order. What is on record for a time stays. */
export function addToDay<Row extends { readonly at: number }>(
  stored: readonly Row[],
  sent: readonly Row[],
): readonly Row[] {
  const times = new Set(stored.map(({ at }) => at));
  const added = sent.filter(({ at }) => !times.has(at));
  return [...stored, ...added].toSorted((one, other) => one.at - other.at);
}

/** Returns the hours of apps of a day with those that are new. What is on record stays; there is a bounded number of apps. */
export function addAppsToDay(stored: readonly AppHealthRow[], sent: readonly AppHealthRow[]): readonly AppHealthRow[] {
  const known = new Set(stored.flatMap(({ apps }) => [...apps.keys()]));
  const others = sent.flatMap(({ apps }) => [...apps].filter(([name]) => !known.has(name)));
  const room = largestApps(new Map(others), MAX_ANSWERED_APPS - known.size);
  const bounded = sent.map(({ at, apps }) => ({
    at,
    apps: new Map([...apps].filter(([name]) => known.has(name) || room.has(name))),
  }));
  return addToDay(stored, bounded);
}

/** Returns the newest hour of apps, if it is no older than the machine's newest row: none of them may run any more. */
export function newestHour(hours: readonly AppHealthRow[], newestAt: number): readonly AppHealthRow[] {
  return hours
    .toSorted((one, other) => one.at - other.at)
    .slice(-1)
    .filter(({ at }) => at > newestAt - 2 * APP_REPORT_ROW_S);
}

/** Returns the rows that end with the newest one and are at hand without reading days. */
export function recentRows(stored: readonly HealthRow[], sent: readonly HealthRow[]): readonly HealthRow[] {
  const rows = addToDay(stored, sent);
  const newest = rows.at(-1)?.at ?? 0;
  return rows.filter(({ at }) => at > newest - MAX_LEVELS_S);
}

/** Returns the rows of a day that is old. */
export function condense(rows: readonly HealthRow[]): readonly HealthRow[] {
  return combineRows(rows, OLD_HEALTH_ROW_S);
}

/** Returns what is on record as points. Rows of two lengths become those of the longer one, so that each counts as much. */
export function storedPoints(
  {
    rowS,
    rows,
    apps,
  }: { readonly rowS: number; readonly rows: readonly HealthRow[]; readonly apps: readonly AppHealthRow[] },
  params: HealthParams,
): DeviceHealth {
  return {
    ...pointsOf(rowS === OLD_HEALTH_ROW_S ? condense(rows) : rows, params, rowS),
    ...(params.apps && { apps: appPointsOf(apps, params, APP_REPORT_ROW_S) }),
  };
}
