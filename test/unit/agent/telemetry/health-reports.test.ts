import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HealthSender } from "../../../../src/agent/link/health-sender.ts";
import { HealthReports, MAX_EARLY_A_DAY } from "../../../../src/agent/telemetry/health-reports.ts";
import type { HealthThresholds } from "../../../../src/protocol/link/health-thresholds.ts";
import type { HealthRow, HealthSpreads } from "../../../../src/protocol/link/health-points.ts";
import { type AppHealthRow, combineAppRows } from "../../../../src/protocol/link/app-health.ts";
import { HealthMessageReader } from "../../../../src/protocol/link/health-message.ts";
import { FakeClock } from "../../../support/fake-clock.ts";
import { BUSY, JUMPING, RESTING, usedApps } from "../../../support/health-samples.ts";

const QUARTER_S = 900;
const QUARTER_MS = QUARTER_S * 1_000;
const DAY_S = 86_400;
/** The start of a day. */
const START = 20_700 * DAY_S;
/** Of a WebSocket message of a client that is shorter than 126 bytes. */
const HEADER_BYTES = 6;
/** What the history of a device with three apps may cost a day. */
const MAX_BYTES_A_DAY = 1_500;

/** The device's ring in memory, and its reports. */
function device(perDay = 24, startS = START) {
  const clock = new FakeClock(startS * 1_000);
  const rows: HealthRow[] = [];
  const apps: AppHealthRow[] = [];
  const ring = { rows: () => rows };
  const reports = new HealthReports({ ring, apps: { rows: () => apps }, perDay, clock, random: () => 0 });
  const nowS = (): number => Math.floor(clock.now() / 1_000);
  return {
    clock,
    rows,
    apps,
    reports,
    nowS,
    /** Time passes by 5 minutes, with a row at the end of it. */
    async sample(spreads: HealthSpreads = { cpu_percent: [1, 2, 3] }) {
      await clock.advance(QUARTER_MS / 3);
      const row = { at: nowS(), spreads };
      rows.push(row);
      reports.onRow(row);
    },
    /** Opens a session. What it sends is in `sent`. */
    begin(confirmedAt?: number, sent: HealthRow[][] = [], thresholds?: HealthThresholds) {
      reports.begin(confirmedAt, thresholds);
      const reader = new HealthMessageReader();
      const sentApps: AppHealthRow[] = [];
      const send = (bytes: Uint8Array): void => {
        const report = reader.read(bytes);
        sent.push([...(report?.rows ?? [])]);
        sentApps.push(...(report?.apps ?? []));
      };
      return Object.assign(new HealthSender({ health: reports, clock, send, confirmedAt }), { sent, sentApps });
    },
  };
}

const use = (count: number): AppHealthRow["apps"] =>
  new Map([["web", { memory_bytes: [65_536 * 2 ** (count % 5), 65_536 * 2 ** (count % 7)], restarts: count % 2 }]]);

const timesOf = (messages: readonly HealthRow[][]): number[] => messages.flat().map(({ at }) => at - START);

describe("what a device sends of how it was", () => {
  test("is one message an hour with its rows of 15 minutes, each once, and never one that is under way", async () => {
    const gateway = device();
    using session = gateway.begin();
    for (let count = 0; count < 12 * 26; count++) await gateway.sample();
    expect(session.sent.length).toBeGreaterThanOrEqual(19);
    expect(session.sent.length).toBeLessThanOrEqual(26);
    const times = timesOf(session.sent);
    expect(times).toEqual(times.map((_, index) => index * QUARTER_S));
    expect(times.at(-1)).toBeLessThan(gateway.nowS() - START - QUARTER_S + 1);
    expect(session.sent[0]?.[0]).toEqual({ at: START, spreads: { cpu_percent: [1, 2, 3] } });
  });

  test("goes beside other traffic when it is due, and without any a quarter of the interval later", async () => {
    const gateway = device();
    using session = gateway.begin();
    for (let count = 0; count < 3 * 4; count++) await gateway.sample();
    const first = session.sent.length;
    const { earliestMs, latestMs } = gateway.reports.due;
    expect(latestMs - earliestMs).toBe(QUARTER_MS);
    await gateway.clock.advance(earliestMs - gateway.clock.monotonic() - 1);
    session.onTraffic();
    expect(session.sent).toHaveLength(first);
    await gateway.clock.advance(1);
    expect(session.sent).toHaveLength(first);
    session.onTraffic();
    session.onTraffic();
    expect(session.sent).toHaveLength(first + 1);
  });

  test("has gaps where the device has no rows", async () => {
    const gateway = device();
    for (let count = 0; count < 3; count++) await gateway.sample();
    await gateway.clock.advance(3 * QUARTER_MS);
    for (let count = 0; count < 4; count++) await gateway.sample();
    using session = gateway.begin();
    session.onTraffic();
    expect(timesOf(session.sent)).toEqual([0, QUARTER_S, 4 * QUARTER_S]);
  });

  test("is what the service does not have, of the last 48 hours, in one message", async () => {
    const gateway = device();
    for (let count = 0; count < 3 * 4 * 60; count++) await gateway.sample();
    using session = gateway.begin(START + 30 * QUARTER_S);
    session.onTraffic();
    expect(session.sent).toHaveLength(1);
    const times = timesOf(session.sent);
    expect([times.length, times.at(-1)]).toEqual([192, 239 * QUARTER_S]);
    using next = gateway.begin(START + 238 * QUARTER_S);
    await gateway.clock.advance(2 * 4 * QUARTER_MS);
    expect(timesOf(next.sent)).toEqual([239 * QUARTER_S, 240 * QUARTER_S]);
  });

  test("has what the apps used in whole hours, each once, over sessions", async () => {
    const gateway = device();
    let count = 0;
    const quarter = async (): Promise<void> => {
      gateway.apps.push({ at: gateway.nowS(), apps: use(count++) });
      for (let part = 0; part < 3; part++) await gateway.sample();
    };
    // The first hour is not whole.
    await gateway.clock.advance(2 * QUARTER_MS);
    const received: AppHealthRow[] = [];
    let newest: number | undefined;
    for (const length of [9, 2, 30, 1, 20]) {
      using session = gateway.begin(newest);
      for (let number = 0; number < length; number++) await quarter();
      received.push(...session.sentApps);
      newest = session.sent.flat().at(-1)?.at ?? newest;
    }
    const hours = combineAppRows(gateway.apps, 3_600);
    expect(received.map(({ at }) => at - START)).toEqual(
      Array.from({ length: received.length }, (_, index) => index * 3_600),
    );
    expect(received.length).toBeGreaterThanOrEqual(hours.length - 3);
    for (const [index, { apps }] of received.entries())
      expect(apps.get("web")?.restarts).toBe(hours[index]?.apps.get("web")?.restarts);
  });

  test("is no more than was set, however often the link breaks", async () => {
    const gateway = device(4);
    const sent: HealthRow[][] = [];
    for (let count = 0; count < 3 * 4 * 24; count++) {
      // The service never gets anything.
      using session = gateway.begin(undefined, sent);
      session.onTraffic();
      await gateway.sample();
    }
    expect(sent.length).toBeGreaterThan(2);
    expect(sent.length).toBeLessThanOrEqual(5);
  });

  test("arrives completely, and each row counts once, over cuts that lose messages and over kills of either side", async () => {
    const fate = fc.record({
      /** 5-minute rows until the session ends, and until the next one. */
      connected: fc.integer({ min: 1, max: 60 }),
      away: fc.integer({ min: 0, max: 30 }),
      /** Whether the service has stored the last message before the session ended. */
      stored: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fate, { maxLength: 8 }), async (fates) => {
        const gateway = device();
        const service = new Map<number, HealthRow>();
        const store = (messages: readonly HealthRow[][]): void => {
          for (const row of messages.flat()) if (!service.has(row.at)) service.set(row.at, row);
        };
        let number = 0;
        const sample = () => gateway.sample({ cpu_percent: [number % 90, number % 90, number++ % 90] });
        const newest = (): number | undefined => [...service.keys()].toSorted((a, b) => a - b).at(-1);
        for (const { connected, away, stored } of fates) {
          using session = gateway.begin(newest());
          for (let count = 0; count < connected; count++) await sample();
          store(stored ? session.sent : session.sent.slice(0, -1));
          session[Symbol.dispose]();
          for (let count = 0; count < away; count++) await sample();
        }
        using last = gateway.begin(newest());
        for (let count = 0; count < 3 * 6; count++) await sample();
        store(last.sent);
        const times = [...service.keys()].toSorted((a, b) => a - b);
        // Without a hole, from the first row on that was within 48 hours when it was sent.
        for (const [index, at] of times.entries()) expect(at).toBe((times[0] ?? 0) + index * QUARTER_S);
        expect(times.at(-1)).toBeGreaterThan(gateway.nowS() - 7 * QUARTER_S);
        for (const { at, spreads } of service.values()) {
          const own = gateway.rows.filter((row) => Math.floor(row.at / QUARTER_S) * QUARTER_S === at);
          const values = own.map((row) => row.spreads.cpu_percent?.[0] ?? Number.NaN);
          expect(spreads.cpu_percent?.[0]).toBe(Math.min(...values));
        }
      }),
      { numRuns: 30 },
    );
  });
});

const signal = (percent: number): HealthSpreads => ({ signal_percent: [percent, percent, percent] });
const heat = (celsius: number): HealthSpreads => ({ temperature_celsius: [celsius, celsius, celsius] });

/** A session that has just sent its hourly message. */
async function afterMessage(thresholds?: HealthThresholds) {
  const gateway = device();
  const session = gateway.begin(undefined, [], thresholds);
  while (session.sent.length < 3) await gateway.sample(heat(60));
  return { gateway, session, count: session.sent.length };
}

/** Returns after how many minutes a message has come. */
async function untilSent({ gateway, session }: Awaited<ReturnType<typeof afterMessage>>, spreads: HealthSpreads) {
  const [count, from] = [session.sent.length, gateway.nowS()];
  while (session.sent.length === count) await gateway.sample(spreads);
  return (gateway.nowS() - from) / 60;
}

describe("a condition of alerts that begins or ceases to hold", () => {
  test("is told within five minutes of the 15 minutes that show it, and so is its end; each row is sent once", async () => {
    const link = await afterMessage();
    using session = link.session;
    expect(await untilSent(link, heat(85))).toBeLessThanOrEqual(35);
    expect(session.sent.at(-1)?.at(-1)).toMatchObject({ spreads: { temperature_celsius: [85, 85, 85] } });
    expect(await untilSent(link, heat(60))).toBeLessThanOrEqual(35);
    expect(session.sent.at(-1)?.at(-1)?.spreads.temperature_celsius?.[1]).toBeLessThanOrEqual(80);
    for (let count = 0; count < 24; count++) await link.gateway.sample(heat(60));
    const times = timesOf(session.sent);
    expect(times).toEqual(times.map((_, index) => index * QUARTER_S));
  });

  test("is told when it has held for its time: memory for 30 minutes", async () => {
    const link = await afterMessage();
    using session = link.session;
    expect(await untilSent(link, { memory_percent: [97, 97, 97] })).toBeLessThanOrEqual(50);
    const means = session.sent.flat().map(({ spreads }) => spreads.memory_percent?.[1]);
    expect(means.slice(-2)).toEqual([97, 97]);
  });

  test("is told four times a day, and then as the rest is: however often it changes, with or without a link", async () => {
    const link = await afterMessage();
    using session = link.session;
    for (let count = 0; count < 12 * 24; count++) await link.gateway.sample(heat(count % 12 < 6 ? 60 : 90));
    expect(session.sent.length - link.count).toBeGreaterThan(19);
    expect(session.sent.length - link.count).toBeLessThanOrEqual(24 + 4);
    const away = device();
    for (let count = 0; count < 12 * 24; count++) await away.sample(heat(count % 12 < 6 ? 60 : 90));
    using back = away.begin();
    back.onTraffic();
    expect(back.sent).toHaveLength(1);
  });

  test("that is sent with an hourly message, or is none since its rows have a gap, brings no other message", async () => {
    const link = await afterMessage();
    using session = link.session;
    await untilSent(link, { temperature_celsius: [81, 81, 81] });
    const { length } = session.sent;
    for (let count = 0; count < 9; count++) await link.gateway.sample(heat(90));
    expect(session.sent).toHaveLength(length);
    const other = await afterMessage();
    using second = other.session;
    // Two rows above, with none between them.
    for (let count = 0; count < 2; count++) await other.gateway.sample({ memory_percent: [97, 97, 97] });
    await other.gateway.clock.advance((QUARTER_MS * 4) / 3);
    for (let count = 0; count < 3; count++) await other.gateway.sample({ memory_percent: [97, 97, 97] });
    expect(second.sent).toHaveLength(other.count);
  });

  test("that is lost with its session is told again in the next one; one that the service has is not, nor after a restart", async () => {
    const link = await afterMessage();
    const before = link.session.sent.at(-1)?.at(-1)?.at;
    await untilSent(link, heat(85));
    const [length, newest] = [link.session.sent.length, link.session.sent.at(-1)?.at(-1)?.at];
    link.session[Symbol.dispose]();
    using lost = link.gateway.begin(before);
    await untilSent({ ...link, session: lost }, heat(85));
    expect(lost.sent.flat()[0]?.at).toBe((before ?? 0) + QUARTER_S);
    expect(length).toBeGreaterThan(link.count);
    // The agent starts anew: its ring has the rows.
    const after = device(24, link.gateway.nowS());
    after.rows.push(...link.gateway.rows);
    using next = after.begin(newest);
    const { due } = after.reports;
    await after.sample(heat(85));
    expect([after.reports.due, next.sent]).toEqual([due, []]);
  });
});

describe("the thresholds that the service says", () => {
  test("hold in place of the device's: higher, for longer, and for what it does not judge by itself", async () => {
    const link = await afterMessage({ temperature_celsius: [[95, 1_800]], disk_percent: [[90, 900]] });
    using session = link.session;
    for (let count = 0; count < 7; count++) await link.gateway.sample(heat(90));
    expect(session.sent).toHaveLength(link.count);
    await untilSent(link, heat(90));
    expect(await untilSent(link, heat(97))).toBeLessThanOrEqual(50);
    const [, second] = session.sent.at(-1)?.toReversed() ?? [];
    expect(second?.spreads.temperature_celsius?.[1]).toBeGreaterThan(95);
    await untilSent(link, heat(97));
    expect(await untilSent(link, { ...heat(97), disk_percent: [92, 92, 92] })).toBeLessThanOrEqual(35);
  });

  test("may lie below: a weak signal is told, and so is that it is back by the margin", async () => {
    const link = await afterMessage({ below: { signal_percent: [[20, 900]] } });
    using session = link.session;
    expect(await untilSent(link, signal(15))).toBeLessThanOrEqual(35);
    const { length } = session.sent;
    // About the limit nothing is told; the hourly message is due after an hour.
    for (let count = 0; count < 9; count++) await link.gateway.sample(signal(22));
    expect(session.sent).toHaveLength(length);
    await untilSent(link, signal(22));
    expect(await untilSent(link, signal(30))).toBeLessThanOrEqual(35);
  });

  test("apply to the next row when they change, and again what is there by default when they are taken back", async () => {
    const link = await afterMessage({ temperature_celsius: [] });
    using session = link.session;
    for (let count = 0; count < 7; count++) await link.gateway.sample(heat(99));
    expect(session.sent).toHaveLength(link.count);
    link.gateway.reports.setThresholds({ temperature_celsius: [[85, 900]] });
    await link.gateway.sample(heat(99));
    await link.gateway.clock.advance(0);
    expect(session.sent).toHaveLength(link.count + 1);
    link.gateway.reports.setThresholds({ temperature_celsius: [[90, 900]] });
    await link.gateway.sample(heat(99));
    await link.gateway.clock.advance(0);
    // By these it has been told.
    expect(session.sent).toHaveLength(link.count + 1);
    link.gateway.reports.setThresholds(undefined);
    expect(await untilSent(link, heat(60))).toBeLessThanOrEqual(35);
  });

  test("of a service that lies cost no more than the messages that the device allows itself", async () => {
    const link = await afterMessage();
    using session = link.session;
    const hostile: (HealthThresholds | undefined)[] = [
      { temperature_celsius: [[-200, 0]], cpu_percent: [[0, 0]] },
      undefined,
      { temperature_celsius: [], memory_percent: [], inodes_percent: [] },
      { temperature_celsius: [[60, 0]], below: { temperature_celsius: [[64, 0]] }, signal_percent: [[0, 900]] },
    ];
    for (let count = 0; count < 12 * 24; count++) {
      link.gateway.reports.setThresholds(hostile[count % hostile.length]);
      await link.gateway.sample({ ...heat(60 + (count % 7)), cpu_percent: [1, 2 + (count % 3), 9] });
    }
    expect(session.sent.length - link.count).toBeGreaterThan(19);
    expect(session.sent.length - link.count).toBeLessThanOrEqual(24 + MAX_EARLY_A_DAY);
    // Nor over sessions that it ends.
    const other = device();
    const sent: HealthRow[][] = [];
    for (let count = 0; count < 12 * 24; count++) {
      using broken = other.begin(undefined, sent, hostile[count % hostile.length]);
      broken.onTraffic();
      await other.sample(heat(60 + (count % 7)));
    }
    expect(sent.length).toBeLessThanOrEqual(24 + 1 + MAX_EARLY_A_DAY);
  });
});

test.each([
  ["of a busy gateway with three apps", BUSY, "busy", 24, 700, MAX_BYTES_A_DAY],
  ["of a gateway that rests, with three apps", RESTING, "resting", 24, 400, 800],
  ["of one where every value jumps in every row", JUMPING, "jumping", 24, 2_000, 6_500],
  ["of a busy gateway, four times a day", BUSY, "busy", 4, 400, 1_300],
] as const)(
  "the history %s costs a known number of bytes a day",
  async (_what, spreadsOf, kind, perDay, least, most) => {
    const gateway = device(perDay);
    const bytes: number[] = [];
    const send = (message: Uint8Array): void => void bytes.push(message.length + HEADER_BYTES);
    using _session = new HealthSender({
      health: gateway.reports,
      clock: gateway.clock,
      send,
      confirmedAt: START - 900,
    });
    for (let count = 0; count < 12 * 36; count++) {
      if (count % 3 === 0) gateway.apps.push({ at: gateway.nowS(), apps: usedApps(kind) });
      await gateway.sample(spreadsOf(count));
    }
    expect(bytes.length).toBeGreaterThanOrEqual(perDay);
    const day = bytes.slice(-perDay).reduce((sum, each) => sum + each, 0);
    expect(day).toBeGreaterThan(least);
    expect(day).toBeLessThanOrEqual(most);
  },
);
