import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type WindowState, windowStateAt } from "../../../../../src/control-plane/core/fleets/windows.ts";
import { DEVICE_ZONE, type RolloutWindow } from "../../../../../src/protocol/fleets/rollout-strategy.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

const window = (days: readonly RolloutWindow["days"][number][], from: string, to: string, zone = DEVICE_ZONE) => ({
  days: [...days],
  from,
  to,
  zone,
});
const daily = (from: string, to: string, zone?: string) => window(DAYS, from, to, zone);
const at = (text: string): number => Date.parse(text);
const open = (until: string): WindowState => ({ kind: "open", closesAtMs: at(until) });
const closed = (until: string): WindowState => ({ kind: "closed", opensAtMs: at(until) });

describe("windows", () => {
  it("are known in every zone that a strategy may name", () => {
    for (const zone of Intl.supportedValuesOf("timeZone")) {
      expect(windowStateAt([daily("00:00", "00:00", zone)], undefined, 0), zone).toMatchObject({ kind: "open" });
    }
  });

  it("are always open where there are none, or where they leave no minute out", () => {
    const always: WindowState = { kind: "open", closesAtMs: undefined };
    expect(windowStateAt([], undefined, 0)).toEqual(always);
    expect(windowStateAt([daily("06:00", "06:00")], "UTC", at("2026-11-23T06:00Z"))).toEqual(always);
    expect(windowStateAt([daily("02:00", "14:00"), daily("14:00", "02:00")], "UTC", 0)).toEqual(always);
  });

  it.each([
    ["2026-11-22T23:59:59.999Z", closed("2026-11-23T02:00Z")],
    ["2026-11-23T01:59:59.999Z", closed("2026-11-23T02:00Z")],
    ["2026-11-23T02:00Z", open("2026-11-23T05:00Z")],
    ["2026-11-23T04:59:59.999Z", open("2026-11-23T05:00Z")],
    ["2026-11-23T05:00Z", closed("2026-11-30T02:00Z")],
  ])("at %s", (now, expected) => {
    expect(windowStateAt([window(["mon"], "02:00", "05:00")], "UTC", at(now))).toEqual(expected);
  });

  it("across midnight belong to the day on which they begin", () => {
    const friday = [window(["fri"], "22:00", "04:00")];
    expect(windowStateAt(friday, "UTC", at("2026-11-27T03:00Z"))).toEqual(closed("2026-11-27T22:00Z"));
    expect(windowStateAt(friday, "UTC", at("2026-11-28T03:00Z"))).toEqual(open("2026-11-28T04:00Z"));
  });

  it("that touch are one", () => {
    const windows = [daily("02:00", "03:00"), daily("03:00", "04:00")];
    expect(windowStateAt(windows, "UTC", at("2026-11-23T02:30Z"))).toEqual(open("2026-11-23T04:00Z"));
  });

  // 29 March 2026: 02:00 to 03:00 does not exist in Berlin.
  it.each([
    ["01:30", "02:30", "2026-03-29T00:30Z", "2026-03-29T01:00Z"],
    ["02:30", "04:00", "2026-03-29T01:00Z", "2026-03-29T02:00Z"],
    ["02:15", "02:45", "2026-03-29T01:00Z", "2026-03-29T01:30Z"],
    ["01:30", "03:30", "2026-03-29T00:30Z", "2026-03-29T01:30Z"],
  ])("%s to %s on the night that leaves an hour out", (from, to, opens, closes) => {
    const windows = [daily(from, to)];
    const berlin = (now: number) => windowStateAt(windows, "Europe/Berlin", now);
    expect(berlin(at("2026-03-28T12:00Z"))).toEqual(closed(opens));
    expect(berlin(at(opens) - 1)).toEqual(closed(opens));
    expect(berlin(at(opens))).toEqual(open(closes));
    expect(berlin(at(closes))).toMatchObject({ kind: "closed" });
  });

  // 25 October 2026: 02:00 to 03:00 comes twice in Berlin.
  it("are open both times in an hour that comes twice, and not between", () => {
    const windows = [daily("02:15", "02:45")];
    const berlin = (now: string) => windowStateAt(windows, "Europe/Berlin", at(now));
    expect(berlin("2026-10-25T00:15Z")).toEqual(open("2026-10-25T00:45Z"));
    expect(berlin("2026-10-25T00:45Z")).toEqual(closed("2026-10-25T01:15Z"));
    expect(berlin("2026-10-25T01:15Z")).toEqual(open("2026-10-25T01:45Z"));
  });

  // Samoa had no 30 December 2011, a Friday.
  it("of a day that the clock leaves out open afterwards", () => {
    const friday = [window(["fri"], "02:00", "05:00")];
    const apia = (now: string) => windowStateAt(friday, "Pacific/Apia", at(now));
    expect(apia("2011-12-29T12:00Z")).toEqual(closed("2011-12-30T10:00Z"));
    expect(apia("2011-12-30T10:00Z")).toEqual(open("2011-12-30T13:00Z"));
    expect(apia("2011-12-30T13:00Z")).toEqual(closed("2012-01-05T12:00Z"));
  });

  it("in the zone of a device wait for the zone, unless another window is open", () => {
    const device = daily("00:00", "00:00");
    const utc = daily("02:00", "05:00", "UTC");
    const now = at("2026-11-23T01:00Z");
    for (const zone of [undefined, "", "Mars/Olympus"]) {
      expect(windowStateAt([device], zone, now)).toEqual({ kind: "unknown_zone", opensAtMs: undefined });
      expect(windowStateAt([device, utc], zone, now)).toEqual({
        kind: "unknown_zone",
        opensAtMs: at("2026-11-23T02:00Z"),
      });
      expect(windowStateAt([device, utc], zone, at("2026-11-23T03:00Z"))).toEqual(open("2026-11-23T05:00Z"));
    }
    expect(windowStateAt([utc], undefined, now)).toEqual(closed("2026-11-23T02:00Z"));
  });
});

/** Wall-clock time in minutes, by `Intl`: the implementation asks `Temporal`. */
function wallClock(zone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat("en", {
    timeZone: zone,
    calendar: "gregory",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  return (ms) => {
    const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute) / MINUTE_MS;
  };
}

const SPAN_DAYS = 22;

/** A change of the clock, with the wall clock at each minute of some days around it. */
function clockChange(zone: string, changeMs: number) {
  const startMs = changeMs - 5 * DAY_MS;
  const wall = wallClock(zone);
  const walls = Array.from({ length: SPAN_DAYS * 24 * 60 }, (_, index) => wall(startMs + index * MINUTE_MS));
  return { zone, startMs, walls };
}

const CHANGES = [
  clockChange("Europe/Berlin", at("2026-03-29T01:00Z")),
  clockChange("Europe/Berlin", at("2026-10-25T01:00Z")),
  clockChange("America/New_York", at("2026-03-08T07:00Z")),
  clockChange("America/New_York", at("2026-11-01T06:00Z")),
  clockChange("Asia/Kolkata", at("2026-11-01T00:00Z")),
  clockChange("Australia/Lord_Howe", at("2026-04-04T15:00Z")),
  clockChange("Australia/Lord_Howe", at("2026-10-03T15:30Z")),
  clockChange("Pacific/Apia", at("2011-12-30T10:00Z")),
  // Midnight itself is left out, and comes twice.
  clockChange("America/Santiago", at("2026-09-06T04:00Z")),
  clockChange("America/Santiago", at("2026-04-05T03:00Z")),
];

function minute(text: string): number {
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
}

/** Whether the windows are open, minute by minute: marks each minute of each window on each day. */
function naive({ walls }: (typeof CHANGES)[number], windows: readonly RolloutWindow[]): boolean[] {
  const open = walls.map(() => false);
  const minutesAt = Map.groupBy(walls.keys(), (index) => walls[index] ?? 0);
  const firstDay = Math.floor((walls[0] ?? 0) / 1440);
  for (let day = firstDay - 1; day <= firstDay + SPAN_DAYS; day++) {
    const name = DAYS[new Date(day * DAY_MS).getUTCDay()] ?? "sun";
    for (const { from, to } of windows.filter(({ days }) => days.includes(name))) {
      const length = (minute(to) - minute(from) + 1440) % 1440 || 1440;
      const begin = day * 1440 + minute(from);
      const shown = Array.from({ length }, (_, index) => begin + index).flatMap((wall) => minutesAt.get(wall) ?? []);
      const first = walls.findIndex((wall) => wall >= begin);
      const isInside = (walls[0] ?? 0) <= begin && first !== -1;
      const marked = shown.length > 0 || !isInside ? shown : Array.from({ length }, (_, index) => first + index);
      for (const index of marked) if (index < open.length) open[index] = true;
    }
  }
  return open;
}

const time = fc
  .tuple(fc.integer({ min: 0, max: 5 }), fc.constantFrom("00", "15", "30", "45", "59"))
  .chain(([hour, minute]) => fc.constantFrom(`0${hour}:${minute}`, `${18 + hour}:${minute}`));
const someWindow = fc.record({
  days: fc.uniqueArray(fc.constantFrom(...DAYS), { minLength: 1, maxLength: 7 }),
  from: time,
  to: time,
  zone: fc.constant(DEVICE_ZONE),
});

describe("windows around changes of the clock", () => {
  it.each(CHANGES.map((change, index) => [change.zone, index, change] as const))(
    "agree with a count of minutes: %s (%i)",
    (zone, _, change) => {
      fc.assert(
        fc.property(
          fc.array(someWindow, { minLength: 1, maxLength: 3 }),
          // From a day before the change to three after it: a week to look ahead is left.
          fc.array(fc.integer({ min: 4 * 1440, max: 8 * 1440 }), { minLength: 1, maxLength: 30 }),
          (windows, minutes) => {
            const isOpen = naive(change, windows);
            for (const minute of minutes) {
              const state = windowStateAt(windows, zone, change.startMs + minute * MINUTE_MS);
              expect(state.kind).toBe(isOpen[minute] ? "open" : "closed");
              const next = isOpen.findIndex((each, index) => index > minute && each !== isOpen[minute]);
              const nextMs = state.kind === "open" ? state.closesAtMs : state.kind === "closed" && state.opensAtMs;
              const isWithinReach = next !== -1 && next <= minute + 9 * 1440;
              expect(nextMs).toBe(isWithinReach ? change.startMs + next * MINUTE_MS : undefined);
            }
          },
        ),
        { numRuns: 60 },
      );
    },
  );
});
