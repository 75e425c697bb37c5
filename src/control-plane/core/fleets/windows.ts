import { DEVICE_ZONE, type RolloutWindow } from "../../../protocol/rollout-strategy.ts";
import { offsetSpans } from "./offset-spans.ts";
import { DAY_MS, type Interval, windowIntervals } from "./window-intervals.ts";

/** Whether something may begin now, by the windows of a strategy. Times are Unix milliseconds. */
export type WindowState =
  | {
      readonly kind: "open";
      /** The first moment at which no window is open any more; `undefined`: not within a week. */
      readonly closesAtMs: number | undefined;
    }
  | { readonly kind: "closed"; readonly opensAtMs: number }
  | {
      /** Windows in the zone of the device would decide, and that zone is not known. The other windows are closed. */
      readonly kind: "unknown_zone";
      /** When the first of the other windows opens; `undefined` if there are none. */
      readonly opensAtMs: number | undefined;
    };

/** Every window opens at least once in this time, also if the clock leaves out its day. */
const LOOK_AHEAD_MS = 9 * DAY_MS;

/** A window lasts a day at most, a clock leaves out one more at most, and wall clocks differ from UTC by less than one. */
const MARGIN_MS = 3 * DAY_MS;

/**
 * Returns whether one of the windows is open. Without windows, it is always open. The result depends on nothing but the
 * arguments, so that it can be computed once for all devices of a zone.
 *
 * @param deviceZone IANA name of the device's zone; `undefined` if the device has not reported any
 */
export function windowStateAt(
  windows: readonly RolloutWindow[],
  deviceZone: string | undefined,
  nowMs: number,
): WindowState {
  if (windows.length === 0) return { kind: "open", closesAtMs: undefined };
  const { intervals, isZoneMissing } = intervalsAround(windows, deviceZone, nowMs);
  // Sorted, so that the first one that has not ended is the open one, or the next.
  const next = union(intervals).find(({ toMs }) => toMs > nowMs);
  if (next !== undefined && next.fromMs <= nowMs) {
    return { kind: "open", closesAtMs: next.toMs > nowMs + LOOK_AHEAD_MS ? undefined : next.toMs };
  }
  if (isZoneMissing) return { kind: "unknown_zone", opensAtMs: next?.fromMs };
  if (next === undefined)
    throw new Error("no window opens within a week: a strategy has at least one day in each window");
  return { kind: "closed", opensAtMs: next.fromMs };
}

function intervalsAround(windows: readonly RolloutWindow[], deviceZone: string | undefined, nowMs: number) {
  const intervals: Interval[] = [];
  let isZoneMissing = false;
  for (const [zone, group] of Map.groupBy(windows, (window) => window.zone)) {
    const name = zone === DEVICE_ZONE ? deviceZone : zone;
    const spans = name && offsetSpans(name, nowMs - MARGIN_MS, nowMs + LOOK_AHEAD_MS + MARGIN_MS);
    if (spans) intervals.push(...group.flatMap((window) => windowIntervals(window, spans)));
    else isZoneMissing = true;
  }
  return { intervals, isZoneMissing };
}

/** Returns the union as intervals that neither overlap nor touch, in order. */
function union(intervals: readonly Interval[]): readonly Interval[] {
  const merged: Interval[] = [];
  for (const each of intervals.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const last = merged.at(-1);
    if (last === undefined || each.fromMs > last.toMs) merged.push(each);
    else merged[merged.length - 1] = { fromMs: last.fromMs, toMs: Math.max(last.toMs, each.toMs) };
  }
  return merged;
}
