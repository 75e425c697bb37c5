import fc from "fast-check";
import { expect, test } from "vitest";
import {
  PAIR_POLICY,
  type SignInAttempt,
  SignInThrottle,
  SOURCE_POLICY,
} from "../../../../../src/control-plane/core/people/sign-in-throttle.ts";

const HONEST: SignInAttempt = { emailKey: "jane@example.com", source: "198.51.100.7", knownBrowser: undefined };
const KNOWN: SignInAttempt = { ...HONEST, source: "203.0.113.9", knownBrowser: "brw_jane" };

/** Attempts of strangers: from anywhere but the honest user's source, with any address, and with browsers they made up. */
const strangers = fc.record({
  emailKey: fc.constantFrom("jane@example.com", "joe@example.com", "nobody@example.com"),
  source: fc.integer({ min: 1, max: 40 }).map((host) => (host === 40 ? "203.0.113.9" : `192.0.2.${host}`)),
  knownBrowser: fc.option(fc.constantFrom("brw_joe", "brw_stranger"), { nil: undefined }),
});
const steps = fc.array(fc.record({ attempt: strangers, afterS: fc.integer({ min: 0, max: 30 }) }), { maxLength: 300 });

test("whatever strangers do, somebody at a source of their own, or in a known browser, does not wait", () => {
  fc.assert(
    fc.property(steps, (attempts) => {
      const throttle = new SignInThrottle();
      let now = 0;
      for (const { attempt, afterS } of attempts) {
        now += afterS;
        throttle.begin(attempt, now);
        for (const honest of [HONEST, KNOWN]) {
          expect(throttle.begin(honest, now)).toBe(0);
          throttle.succeeded(honest, now);
        }
      }
    }),
  );
});

test("guesses at one address from one source: a few at once, then fewer and fewer, and the pause has a limit", () => {
  const throttle = new SignInThrottle();
  const admitted: number[] = [];
  for (let now = 0; now < 86_400; now++) if (throttle.begin(HONEST, now) === 0) admitted.push(now);
  expect(admitted.slice(0, 10)).toEqual([0, 1, 2, 3, 4, 5, 6, 8, 12, 20]);
  const pauses = admitted.slice(1).map((at, index) => at - admitted[index]!);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(PAIR_POLICY.maxPauseS);
  // The largest pause, and the ones before it.
  expect(admitted.length).toBeLessThan(86_400 / PAIR_POLICY.maxPauseS + 40);
});

test("attempts at the same time count before they have failed", () => {
  const throttle = new SignInThrottle();
  const results = Array.from({ length: 1_000 }, () => throttle.begin(HONEST, 5));
  expect(results.filter((pause) => pause === 0)).toHaveLength(PAIR_POLICY.free + 1);
});

test("guesses with many addresses from one source are slowed down, and an attacker's own sign-ins do not help", () => {
  const throttle = new SignInThrottle();
  const own = { ...HONEST, emailKey: "attacker@example.com" };
  let guesses = 0;
  for (let now = 0; now < 3_600; now++) {
    for (let number = 0; number < 10; number++)
      if (throttle.begin({ ...HONEST, emailKey: `user${now}-${number}@example.com` }, now) === 0) guesses++;
    if (throttle.begin(own, now) === 0) throttle.succeeded(own, now);
  }
  expect(guesses).toBeLessThan(SOURCE_POLICY.free + 3_600 / SOURCE_POLICY.maxPauseS + 80);
});

test("failures are forgotten", () => {
  const throttle = new SignInThrottle();
  for (let now = 0; now < 3_600; now++) throttle.begin(HONEST, now);
  const later = 3_600 + 24 * PAIR_POLICY.forgetS;
  expect(Array.from({ length: PAIR_POLICY.free }, () => throttle.begin(HONEST, later))).toEqual([0, 0, 0, 0, 0]);
});

test("a clock that goes back makes nobody wait longer than the longest pause", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 10_000 }), { maxLength: 60 }), (times) => {
      const throttle = new SignInThrottle();
      for (const now of times) expect(throttle.begin(HONEST, now)).toBeLessThanOrEqual(PAIR_POLICY.maxPauseS);
    }),
  );
});

test("remembers a limited number, and counts the pauses that it forgets early", () => {
  const throttle = new SignInThrottle(100);
  for (let host = 0; host < 500; host++) throttle.begin({ ...HONEST, source: `host ${host}` }, 1);
  expect(throttle.size).toBe(100);
  expect(throttle.dropped).toBe(900);
});

test("an attempt that was given up before the password was looked at is no failure", () => {
  const throttle = new SignInThrottle();
  for (let number = 0; number < 100; number++) {
    expect(throttle.begin(HONEST, 1)).toBe(0);
    throttle.withdraw(HONEST, 1);
  }
  expect(throttle.size).toBe(0);
});

test("failures at other instances make the pause longer, and success takes the own ones back", () => {
  const counts = new Map<string, number>();
  const shared = {
    others: (name: string) => (name.includes("pair") ? (counts.get("others") ?? 0) : 0),
    set: (name: string, count: number) => void (name.includes("pair") && counts.set("own", count)),
  };
  const throttle = new SignInThrottle(undefined, shared);
  counts.set("others", 6);
  // Each instance lets one through, which is not worth a message.
  expect(throttle.begin(HONEST, 10)).toBe(0);
  expect(counts.get("own")).toBeUndefined();
  expect(throttle.begin(HONEST, 10)).toBe(2);
  expect(throttle.begin(HONEST, 12)).toBe(0);
  expect(counts.get("own")).toBe(2);
  expect(throttle.begin(HONEST, 12)).toBe(4);
  throttle.succeeded(HONEST, 12);
  expect(counts.get("own")).toBe(0);
  expect(throttle.begin(HONEST, 12)).toBe(0);
});

test("however the attempts of several instances interleave, together they let through little more than one alone", () => {
  const instances = 4;
  const own = Array.from({ length: instances }, () => new Map<string, number>());
  const throttles = own.map(
    (_, at) =>
      new SignInThrottle(undefined, {
        others: (name) => own.reduce((sum, counts, index) => sum + (index === at ? 0 : (counts.get(name) ?? 0)), 0),
        set: (name, count) => void own[at]!.set(name, count),
      }),
  );
  let admitted = 0;
  for (let now = 0; now < 3_600; now++)
    for (const throttle of throttles) if (throttle.begin(HONEST, now) === 0) admitted++;
  expect(admitted).toBeLessThan(instances * 12);
});
