import { stripVTControlCharacters } from "node:util";

/**
 * Control characters (C0 and C1), line and paragraph separators, lone surrogates, and format characters, which change
 * the writing direction or are invisible. Excepted are soft hyphen and the joiners of letters and emoji.
 */
const TERMINAL_UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}[\p{Cf}--[\u00ad\u200c\u200d]]]/gv;
/** An SGR sequence: colour or weight. */
const COLOUR = "\\u001b\\[[\\d;]*m";
const COLOURS = new RegExp(`(${COLOUR})`);

/**
 * Makes text from outside safe to print on one line: removes terminal sequences, and escapes the remaining control,
 * direction and line-breaking characters.
 */
export function sanitizeLine(text: string): string {
  return stripVTControlCharacters(text).replaceAll("\t", " ").replaceAll(TERMINAL_UNSAFE, escape);
}

/** `sanitizeLine` for each line of a text. */
export function sanitizeLines(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines.map(sanitizeLine);
}

/**
 * Escapes unsafe characters in a complete output of several lines, in case a part of it was not sanitized.
 *
 * @param allowsColour keeps the program's own colours
 */
export function sanitizeOutput(text: string, allowsColour: boolean): string {
  const parts = allowsColour ? text.split(COLOURS) : [text];
  return parts
    .map((part, index) =>
      index % 2 === 1 ? part : part.replaceAll(TERMINAL_UNSAFE, (one) => (one === "\n" ? one : escape(one))),
    )
    .join("");
}

/** Copies a JSON value with every string sanitized. */
export function sanitizeValue<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_name, field: unknown) => {
    return typeof field === "string" ? sanitizeLine(field) : field;
  }) as T;
}

/** `JSON.stringify` with characters escaped that a terminal might act on. The JSON value is the same. */
export function safeJson(value: unknown, indent?: number): string {
  return escapeJson(JSON.stringify(value, undefined, indent));
}

/** The same escapes for a text that is already JSON, or lines of JSON. */
export function escapeJson(json: string): string {
  return json.replaceAll(TERMINAL_UNSAFE, (character) => (character === "\n" ? character : escapeForJson(character)));
}

function escape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}

/** Escapes each UTF-16 code unit. */
function escapeForJson(character: string): string {
  let escapes = "";
  for (let at = 0; at < character.length; at++) {
    escapes += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }
  return escapes;
}
