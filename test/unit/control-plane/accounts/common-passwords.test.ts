import { expect, test } from "vitest";
import { findPasswordProblem } from "../../../../src/control-plane/core/people/password.ts";
import { commonPasswords } from "../../../../src/control-plane/accounts/common-passwords.ts";

const problemOf = (password: string): string | undefined =>
  findPasswordProblem(password, { email: "jane@example.com", names: ["Jane"], common: commonPasswords() });

test("every common password could be chosen but for the list, and there are thousands", () => {
  const passwords = [...commonPasswords()];
  expect(passwords.length).toBeGreaterThan(5_000);
  expect(passwords.filter((password) => password !== password.toLowerCase() || password.length < 12)).toEqual([]);
});

test.each([
  "Password1234",
  "passwordpassword",
  "Administrator",
  "Welcome12345",
  "qwertyuiop12",
  "1qaz2wsx3edc",
  "123456789012",
  "iloveyou2024",
  "changemechangeme",
  "Raspberry2026!",
  "abcdefghijkl",
])("%s is common", (password) => {
  expect(problemOf(password)).toMatch(/common|repetitive/);
});

test.each(["correct horse battery", "Tr0mpetenkäfer", "kupfer-regen-acht", "9f2c1be7a04d"])("%s is not", (password) => {
  expect(problemOf(password)).toBeUndefined();
});
