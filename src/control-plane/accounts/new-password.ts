import { EdgeError } from "../../protocol/errors/errors.ts";
import { findPasswordProblem, type PasswordProblem } from "../core/people/password.ts";
import { commonPasswords } from "./common-passwords.ts";

const REASONS: Readonly<Record<PasswordProblem, string>> = {
  too_short: "The password is too short: it must have 12 characters at least.",
  too_long: "The password is too long: it must have 256 characters at most.",
  malformed: "The password holds half a character. Type it again.",
  repetitive: "The password repeats a few characters.",
  guessable: "The password is the address or a name.",
  common: "The password is one that many people use.",
};

/** Throws `WeakPassword` unless the password may be used. @param names of the account and of the user */
export function requireStrongPassword(password: string, email: string, names: readonly string[]): void {
  const problem = findPasswordProblem(password, { email, names, common: commonPasswords() });
  if (problem) throw new EdgeError("WeakPassword", REASONS[problem], { problem });
}
