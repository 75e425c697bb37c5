import fc from "fast-check";
import { expect, test } from "vitest";
import {
  CODE_LIFETIMES_S,
  codeExpiry,
  type CodePurpose,
  codeState,
  type OneTimeCode,
} from "../../../../../src/control-plane/core/people/one-time-code.ts";

const NOW = 1_790_000_000;
const codeOf = (purpose: CodePurpose, fields: Partial<OneTimeCode> = {}): OneTimeCode => ({
  purpose,
  accountId: undefined,
  userId: undefined,
  createdAt: NOW,
  expiresAt: codeExpiry(purpose, NOW),
  usedAt: undefined,
  ...fields,
});

test("a set-up code lasts 24 hours, an invitation a week", () => {
  expect(codeExpiry("setup", NOW)).toBe(NOW + 86_400);
  expect(codeState(codeOf("setup"), ["setup"], NOW + 86_399)).toBe("usable");
  expect(codeState(codeOf("setup"), ["setup"], NOW + 86_400)).toBe("expired");
  expect(codeState(codeOf("invitation"), ["invitation"], NOW + 7 * 86_400 - 1)).toBe("usable");
});

test("is usable only for its purpose, once, and in its time", () => {
  const purposes = Object.keys(CODE_LIFETIMES_S) as CodePurpose[];
  const at = fc.integer({ min: NOW, max: NOW + 8 * 86_400 });
  fc.assert(
    fc.property(
      fc.constantFrom(...purposes),
      fc.subarray(purposes),
      at,
      fc.option(at, { nil: undefined }),
      (purpose, wanted, now, usedAt) => {
        const state = codeState(codeOf(purpose, { usedAt }), wanted, now);
        const isUsable = wanted.includes(purpose) && usedAt === undefined && now < NOW + CODE_LIFETIMES_S[purpose];
        expect(state === "usable").toBe(isUsable);
        // Nothing is told of a code to somebody who presents it for something else.
        if (!wanted.includes(purpose)) expect(state).toBe("unknown");
      },
    ),
  );
  expect(codeState(undefined, purposes, NOW)).toBe("unknown");
});
