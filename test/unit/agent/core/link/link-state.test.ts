import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AttemptOutcome,
  INITIAL_LINK_STATE,
  type Jitter,
  MAX_RETRY_AFTER_MS,
  nextAttempt,
  STABLE_SESSION_MS,
} from "../../../../../src/agent/core/link/link-state.ts";
import { fullJitter } from "../../../../../src/lib/backoff.ts";
import { SeededRandom } from "../../../../support/chaos/seeded-random.ts";

const BACKOFF = { baseMs: 1_000, maxMs: 300_000 };
const MINUTE = 60_000;

const always =
  (random: number): Jitter =>
  (attempt, bounds) =>
    fullJitter(attempt, bounds, random);
const LEAST = always(0);
const MOST = always(1 - 2 ** -53);

const failed = (retryAfterMs?: number): AttemptOutcome => ({
  kind: "failed",
  reason: "",
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});
const refused: AttemptOutcome = { kind: "refused", reason: "" };
const replaced: AttemptOutcome = { kind: "replaced", reason: "" };
const restarting = (windowMs: number): AttemptOutcome => ({ kind: "restarting", reason: "", windowMs });

const anyAttempt = fc.nat({ max: 10_000 });
const anyRandom = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const anyMs = fc.double({ min: -1e12, max: 1e12, noNaN: true });
const anyOutcome = fc.oneof(
  fc.constantFrom(failed(), { ...failed(), shared: true } as const, refused, replaced, {
    kind: "unsupported",
    reason: "",
  } as const),
  anyMs.map(failed),
  anyMs.map(restarting),
);

const delayOf = (attempt: number, outcome: AttemptOutcome, jitter: Jitter, onlineMs = 0): number =>
  nextAttempt({ attempt }, outcome, onlineMs, BACKOFF, jitter).delayMs;

/** Attempts counted after the given ends, each with the milliseconds the session stood. */
const run = (steps: readonly (readonly [AttemptOutcome, number])[]): number =>
  steps.reduce(
    (state, [outcome, onlineMs]) => nextAttempt(state, outcome, onlineMs, BACKOFF, MOST).state,
    INITIAL_LINK_STATE,
  ).attempt;

/** Milliseconds from the return of a service until a device is back that lost it `downMs` before. */
function returnsAt(downMs: number, random: () => number): number {
  let state = INITIAL_LINK_STATE;
  for (let at = 0; ;) {
    const lost: AttemptOutcome = { kind: "failed", reason: "", isFleetWide: true };
    const next = nextAttempt(state, lost, at === 0 ? STABLE_SESSION_MS : 0, BACKOFF, always(random()));
    state = next.state;
    at += Math.max(1, next.delayMs);
    if (at >= downMs) return at - downMs;
  }
}

function seeded(seed: number): () => number {
  const source = new SeededRandom(seed);
  return () => source.next();
}

describe("the wait before the next attempt", () => {
  it("is finite and never negative, whatever the outcome", () => {
    fc.assert(
      fc.property(anyAttempt, anyOutcome, anyRandom, anyMs, (attempt, outcome, random, onlineMs) => {
        const delay = delayOf(attempt, outcome, always(random), onlineMs);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThan(MAX_RETRY_AFTER_MS * 1.2 + BACKOFF.maxMs + 1);
      }),
    );
  });

  it("doubles from one second to five minutes, anywhere below the bound", () => {
    const bounds = [0, 1, 2, 8, 9, 50].map((attempt) => Math.ceil(delayOf(attempt, failed(), MOST) / 1000));
    expect(bounds).toEqual([1, 2, 4, 256, 300, 300]);
    expect(delayOf(50, failed(), LEAST)).toBe(0);
  });

  it("is spread over ten seconds at least where a fleet may have been sent away, and over no more than configured", () => {
    const shared: AttemptOutcome = { kind: "failed", reason: "", isFleetWide: true };
    expect([0, 1, 2, 3, 4, 50].map((attempt) => Math.ceil(delayOf(attempt, shared, MOST) / 1000))).toEqual([
      10, 10, 10, 10, 16, 300,
    ]);
    expect(delayOf(3, shared, LEAST)).toBe(0);
    const narrow = nextAttempt(INITIAL_LINK_STATE, shared, 0, { baseMs: 10, maxMs: 50 }, MOST);
    expect(narrow.delayMs).toBeLessThan(50);
  });

  it("does not bring a fleet of a thousand back in one second, however short the outage was", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 120_000 }), fc.integer(), (downMs, seed) => {
        const random = seeded(seed);
        const times = Array.from({ length: 1_000 }, () => returnsAt(downMs, random)).toSorted((a, b) => a - b);
        const most = Math.max(
          ...times.map((from, index) => times.findLastIndex((at) => at < from + 1_000) - index + 1),
        );
        expect(most).toBeLessThan(350);
      }),
      { numRuns: 20 },
    );
  });

  it("is at least what Retry-After asks for, up to an hour, and spreads a fleet by a fifth of it", () => {
    fc.assert(
      fc.property(anyAttempt, fc.nat({ max: MAX_RETRY_AFTER_MS }), anyRandom, (attempt, retryAfter, random) => {
        expect(delayOf(attempt, failed(retryAfter), always(random))).toBeGreaterThanOrEqual(retryAfter);
      }),
    );
    expect(delayOf(0, failed(10 * MINUTE), MOST)).toBeGreaterThan(12 * MINUTE - 10);
    expect(delayOf(0, failed(1e15), LEAST)).toBe(MAX_RETRY_AFTER_MS);
  });

  it("is 2 to 15 minutes for a refused token or an unsupported protocol, growing", () => {
    for (const kind of ["refused", "unsupported"] as const) {
      fc.assert(
        fc.property(anyAttempt, anyRandom, (attempt, random) => {
          const delay = delayOf(attempt, { kind, reason: "" }, always(random));
          expect(delay).toBeGreaterThanOrEqual(2 * MINUTE);
          expect(delay).toBeLessThanOrEqual(15 * MINUTE);
        }),
      );
      expect(delayOf(0, { kind, reason: "" }, MOST)).toBeLessThanOrEqual(4 * MINUTE);
      expect(delayOf(9, { kind, reason: "" }, MOST)).toBeGreaterThan(14 * MINUTE);
    }
  });

  it("is at least a minute after a replacement", () => {
    fc.assert(
      fc.property(anyAttempt, anyRandom, anyMs, (attempt, random, onlineMs) => {
        expect(delayOf(attempt, replaced, always(random), onlineMs)).toBeGreaterThanOrEqual(MINUTE);
      }),
    );
  });

  it("is spread evenly over the window a goodbye names", () => {
    fc.assert(
      fc.property(fc.nat({ max: MAX_RETRY_AFTER_MS }), anyRandom, (windowMs, random) => {
        const delay = delayOf(0, restarting(windowMs), always(random), STABLE_SESSION_MS);
        expect(delay).toBe(Math.floor(random * windowMs));
      }),
    );
  });

  it("grows when every session ends in a goodbye at once", () => {
    expect(delayOf(0, restarting(0), MOST)).toBe(0);
    expect(delayOf(9, restarting(0), MOST)).toBeGreaterThan(4 * MINUTE);
  });
});

describe("the count of attempts", () => {
  it("starts anew only after a session that stood for a minute", () => {
    const failures = Array.from({ length: 6 }, () => [failed(), 0] as const);
    expect(run(failures)).toBe(6);
    expect(run([...failures, [failed(), STABLE_SESSION_MS - 1]])).toBe(7);
    expect(run([...failures, [failed(), STABLE_SESSION_MS]])).toBe(1);
  });

  it("goes on while two processes take the link from each other, however long each keeps it", () => {
    const duel = Array.from({ length: 5 }, () => [replaced, 10 * MINUTE] as const);
    expect(run(duel)).toBe(5);
    expect(delayOf(5, replaced, MOST, 10 * MINUTE)).toBeGreaterThan(14 * MINUTE);
  });
});
