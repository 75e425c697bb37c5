import fc from "fast-check";
import { expect, test } from "vitest";
import {
  findPasswordProblem,
  normalizePassword,
  type PasswordContext,
} from "../../../../../src/control-plane/core/people/password.ts";

const CONTEXT: PasswordContext = {
  email: "jane.doe@waterworks.example",
  names: ["Jane Doe", "Northern Waterworks"],
  common: new Set(["qwertyuiop123"]),
};
const problemOf = (password: string) => findPasswordProblem(password, CONTEXT);

test.each([
  ["", "too_short"],
  ["elevenchars", "too_short"],
  ["x".repeat(257), "too_long"],
  ["aaaaaaaaaaaaaa", "repetitive"],
  ["abcabcabcabcab", "repetitive"],
  ["123123123123", "repetitive"],
  ["QwertyUIOP123", "common"],
  ["Jane.Doe2026!!", "guessable"],
  ["waterworks.example", "guessable"],
  ["JANEDOE-janedoe", "guessable"],
  ["1northern waterworks1", "guessable"],
  ["valid text \ud800 otherwise", "malformed"],
] as const)("refuses %j: %s", (password, problem) => {
  expect(problemOf(password)).toBe(problem);
});

test.each([
  "twelve chars",
  "correct horse battery staple",
  "очень длинный пароль",
  "\u{1F600}\u{1F601}\u{1F602}\u{1F603}\u{1F604}\u{1F605}\u{1F606}\u{1F607}\u{1F608}\u{1F609}\u{1F60A}\u{1F60B}",
  "janes doe eats grass",
  "482915736204",
  "  spaces at the ends  ",
])("accepts %j", (password) => {
  expect(problemOf(password)).toBeUndefined();
});

test("the length counts characters, however they are composed, and the answer is the same for each composition", () => {
  const decomposed = "e\u0301".repeat(4) + "abcdefgh";
  expect(normalizePassword(decomposed)).toHaveLength(12);
  expect(problemOf(decomposed)).toBeUndefined();
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 8, maxLength: 30 }), (text) => {
      expect(problemOf(text.normalize("NFD"))).toBe(problemOf(text.normalize("NFC")));
      expect(normalizePassword(text.normalize("NFD"))).toBe(normalizePassword(text));
    }),
  );
});

test("never throws, and refuses every length outside 12 to 256", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      const problem = problemOf(text);
      const length = Array.from(text.normalize("NFC")).length;
      if (length < 12 || length > 256) expect(problem).toBeDefined();
    }),
  );
});
