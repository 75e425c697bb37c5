import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  type IdleEstimate,
  INITIAL_ESTIMATE,
  isWorthIt,
  type KeepaliveBounds,
  learnClosed,
  learnSurvived,
  type LinkCosts,
  nextKeepaliveMs,
} from "../../../../../src/agent/core/link/keepalive-learning.ts";
import { SeededRandom } from "../../../../support/chaos/seeded-random.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const MONTH = 30 * DAY;
const MB = 1_000_000;

const BOUNDS: KeepaliveBounds = { startMs: 10 * MINUTE, minMs: 10 * SECOND, maxMs: 30 * MINUTE };
const COSTS: LinkCosts = { keepaliveBytes: 270, reconnectBytes: 4_000, maxBytesPerDay: undefined };
/** A link that was closed is there again after this time, since many devices may have lost theirs. */
const RECONNECT_MS = 20 * SECOND;

/** How long one connection lives, and how long it may be silent. */
interface Connection {
  readonly idleMs: number;
  readonly lifeMs: number;
}

interface Month {
  /** Share of the time. */
  readonly online: number;
  readonly bytes: number;
  readonly closes: number;
  readonly known: IdleEstimate;
}

/** A month of an idle device, in simulated time. */
function live(connect: () => Connection, { costs = COSTS, learns = true, months = 1 } = {}): Month {
  let known = INITIAL_ESTIMATE;
  let [now, online, bytes, closes] = [0, 0, 0, 0];
  while (now < months * MONTH) {
    const { idleMs, lifeMs } = connect();
    bytes += costs.reconnectBytes;
    for (let age = 0; ;) {
      const interval = nextKeepaliveMs(known, BOUNDS, costs);
      const silence = Math.min(interval, idleMs, lifeMs - age);
      [now, online, age] = [now + silence, online + silence, age + silence];
      if (silence < interval || interval >= idleMs) {
        if (learns && silence >= 10 * SECOND) known = learnClosed(known, silence);
        break;
      }
      bytes += costs.keepaliveBytes;
      if (learns) known = learnSurvived(known, silence);
      if (now >= months * MONTH) break;
    }
    closes++;
    now += RECONNECT_MS;
  }
  return { online: online / now, bytes: bytes / months, closes, known };
}

const idle = (idleMs: number) => (): Connection => ({ idleMs, lifeMs: Infinity });

describe("a proxy that closes idle connections", () => {
  test.each([
    // With the idle time, the bounds of a month: 4 kB for each reconnect, 270 bytes for each keep-alive.
    { idleS: 20, maxMb: 47, beforeMb: 250, beforeOnline: 0.51 },
    { idleS: 30, maxMb: 31, beforeMb: 200, beforeOnline: 0.61 },
    { idleS: 60, maxMb: 16, beforeMb: 125, beforeOnline: 0.76 },
    { idleS: 300, maxMb: 3.5, beforeMb: 30, beforeOnline: 0.94 },
  ])("after $idleS s is learned: the device is online, for less", ({ idleS, maxMb, beforeMb, beforeOnline }) => {
    const before = live(idle(idleS * SECOND), { learns: false });
    const after = live(idle(idleS * SECOND));
    expect(before.bytes).toBeGreaterThan(beforeMb * MB);
    expect(before.online).toBeLessThan(beforeOnline);
    expect(after.bytes).toBeLessThan(maxMb * MB);
    expect(after.online).toBeGreaterThan(0.998);
    expect(after.closes).toBeLessThanOrEqual(120);
  });

  it("is found within four closes, whatever its time", () => {
    fc.assert(
      fc.property(fc.integer({ min: 15 * SECOND, max: 9 * MINUTE }), (idleMs) => {
        let known = INITIAL_ESTIMATE;
        let closes = 0;
        while (nextKeepaliveMs(known, BOUNDS, COSTS) >= idleMs) {
          known = learnClosed(known, idleMs);
          closes++;
        }
        expect(closes).toBe(3);
      }),
    );
  });

  it("after random times costs less than before, and the device is online more", () => {
    const random = new SeededRandom(35);
    const connect = (): Connection => ({ idleMs: (20 + 280 * random.next()) * SECOND, lifeMs: Infinity });
    const before = live(connect, { learns: false });
    const after = live(connect);
    expect(after.online).toBeGreaterThan(0.99);
    expect(before.online).toBeLessThan(0.9);
    expect(after.bytes).toBeLessThan(before.bytes);
  });

  it("is not fought where keep-alives cost more than reconnects, or than the budget allows", () => {
    const cheap = { ...COSTS, reconnectBytes: 100 };
    expect(live(idle(20 * SECOND), { costs: cheap }).bytes).toBeLessThan(8 * MB);
    const poor = { ...COSTS, maxBytesPerDay: 0.8 * MB };
    const { known } = live(idle(20 * SECOND), { costs: poor });
    expect(nextKeepaliveMs(known, BOUNDS, poor)).toBe(BOUNDS.startMs);
    expect(nextKeepaliveMs(known, BOUNDS, COSTS)).toBeLessThan(20 * SECOND);
    expect(isWorthIt(17 * SECOND, 20 * SECOND, { ...COSTS, maxBytesPerDay: 2 * MB })).toBe(true);
    expect(isWorthIt(17 * SECOND, 20 * SECOND, poor)).toBe(false);
  });
});

test("a busy link whose silences are short needs no keep-alive more often than once a minute", () => {
  let known = INITIAL_ESTIMATE;
  for (let count = 0; count < 2_000; count++) known = learnSurvived(known, 12 * SECOND);
  expect(nextKeepaliveMs(known, BOUNDS, COSTS)).toBe(MINUTE);
});

describe("closes that silence does not cause teach nothing that lasts", () => {
  const STEADY = live(() => ({ idleMs: Infinity, lifeMs: Infinity }));

  test.each([
    ["a carrier that reconnects every day", DAY],
    ["a proxy that ends connections after an hour", 60 * MINUTE],
    ["a service that restarts every 25 minutes", 25 * MINUTE],
  ])("%s", (_what, lifeMs) => {
    const { known, bytes, closes } = live(() => ({ idleMs: Infinity, lifeMs }));
    expect(nextKeepaliveMs(known, BOUNDS, COSTS)).toBe(BOUNDS.maxMs);
    expect(bytes).toBeLessThan(STEADY.bytes + closes * (COSTS.reconnectBytes + 3 * COSTS.keepaliveBytes));
  });

  it("connections that live for less than a keep-alive interval: that is found out, and undone", () => {
    const { known, bytes, closes } = live(() => ({ idleMs: Infinity, lifeMs: 5 * MINUTE }));
    expect(known.ignoresCloses).toBe(true);
    expect(bytes).toBeLessThan(closes * COSTS.reconnectBytes * 1.05);
  });

  it("a service that crashes at any time", () => {
    const random = new SeededRandom(7);
    const { known } = live(() => ({ idleMs: Infinity, lifeMs: 2 * DAY * random.next() }));
    expect(nextKeepaliveMs(known, BOUNDS, COSTS)).toBe(BOUNDS.maxMs);
  });
});
