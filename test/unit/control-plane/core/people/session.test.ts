import fc from "fast-check";
import { expect, test } from "vitest";
import {
  isSessionLive,
  isUseDue,
  MAX_SESSION_S,
  SESSION_IDLE_S,
  sessionEnd,
} from "../../../../../src/control-plane/core/people/session.ts";

const BEGAN = 1_790_000_000;

test("ends 12 hours after its last use, and 7 days after it began", () => {
  const idle = { createdAt: BEGAN, lastUsedAt: BEGAN };
  expect(isSessionLive(idle, BEGAN + SESSION_IDLE_S - 1)).toBe(true);
  expect(isSessionLive(idle, BEGAN + SESSION_IDLE_S)).toBe(false);
  const busy = { createdAt: BEGAN, lastUsedAt: BEGAN + MAX_SESSION_S - 1 };
  expect(isSessionLive(busy, BEGAN + MAX_SESSION_S - 1)).toBe(true);
  expect(isSessionLive(busy, BEGAN + MAX_SESSION_S)).toBe(false);
});

test("no pattern of use keeps it longer than 7 days, and a pause of less than 12 hours ends none earlier", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: SESSION_IDLE_S - 61 }), { maxLength: 60 }), (pauses) => {
      let [now, lastUsedAt] = [BEGAN, BEGAN];
      for (const pause of pauses) {
        now += pause;
        const isWithin = now < BEGAN + MAX_SESSION_S;
        expect(isSessionLive({ createdAt: BEGAN, lastUsedAt }, now)).toBe(isWithin);
        if (!isWithin) break;
        // The use is stored at most once in a minute.
        if (isUseDue({ lastUsedAt }, now)) lastUsedAt = now;
      }
      expect(sessionEnd({ createdAt: BEGAN, lastUsedAt })).toBeLessThanOrEqual(BEGAN + MAX_SESSION_S);
    }),
  );
});
