const MIN_PASSWORD_CHARACTERS = 12;
const MAX_PASSWORD_CHARACTERS = 256;

/** Why a password is refused. */
export type PasswordProblem = "too_short" | "too_long" | "malformed" | "repetitive" | "guessable" | "common";

/** What a person who wants to guess the password knows. */
export interface PasswordContext {
  readonly email: string;
  /** Names that stand for the account or its user. */
  readonly names: readonly string[];
  /** Passwords in wide use, lower case. */
  readonly common: ReadonlySet<string>;
}

/** A repeated text of at most this length is no password, however often it is repeated. */
const MAX_REPEATED_CHARACTERS = 3;

/** Returns the form of a password that is hashed: the same for every way a keyboard may compose its characters. */
export function normalizePassword(password: string): string {
  return password.normalize("NFC");
}

/** Returns why the password is refused; `undefined` if it may be used. There are no rules about kinds of characters. */
export function findPasswordProblem(password: string, context: PasswordContext): PasswordProblem | undefined {
  // Unpaired surrogates would all be hashed as the same character.
  if (!password.isWellFormed()) return "malformed";
  const normal = normalizePassword(password);
  const characters = Array.from(normal);
  if (characters.length < MIN_PASSWORD_CHARACTERS) return "too_short";
  if (characters.length > MAX_PASSWORD_CHARACTERS) return "too_long";
  if (isRepetitive(characters)) return "repetitive";
  const folded = normal.toLowerCase();
  if (context.common.has(folded)) return "common";
  return isGuessable(folded, context) ? "guessable" : undefined;
}

/** Whether the characters repeat a text of a few characters. */
function isRepetitive(characters: readonly string[]): boolean {
  for (let length = 1; length <= MAX_REPEATED_CHARACTERS; length++) {
    if (characters.every((character, index) => character === characters[index % length])) return true;
  }
  return false;
}

/** Whether the password is the user's address or names, with at most a few digits or signs around them. */
function isGuessable(folded: string, { email, names }: PasswordContext): boolean {
  const known = [email, ...email.split("@"), ...names].map((text) => letters(normalizePassword(text).toLowerCase()));
  const rest = letters(folded);
  // Digits and signs alone are judged by the list of common passwords.
  return rest !== "" && known.some((text) => text !== "" && isRepetitionOf(rest, text));
}

/** The letters of a text in order. */
function letters(text: string): string {
  return text.replaceAll(/\P{L}+/gu, "");
}

function isRepetitionOf(text: string, part: string): boolean {
  return text.length % part.length === 0 && part.repeat(text.length / part.length) === text;
}
