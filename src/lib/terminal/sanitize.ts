import { stripVTControlCharacters } from "node:util";

const UNSAFE = /[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Cs}]/gu;

/**
 * Makes text from outside safe to print on one line: terminal sequences are dropped, what is left of control,
 * direction and line-breaking characters is shown as an escape instead of acted on.
 */
export function sanitizeLine(text: string): string {
  return stripVTControlCharacters(text).replaceAll("\t", " ").replaceAll(UNSAFE, escape);
}

/** The same for text of several lines. */
export function sanitizeLines(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines.map(sanitizeLine);
}

/** JSON on one line, or indented, with everything escaped that a terminal might act on. Still the same JSON value. */
export function safeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, undefined, indent).replaceAll(UNSAFE, (character) =>
    character === "\n" ? character : escapeForJson(character),
  );
}

function escape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}

// Every character of UNSAFE lies in the basic plane, so one escape is enough.
function escapeForJson(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
}
