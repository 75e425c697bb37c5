import { stripVTControlCharacters } from "node:util";

/**
 * Control characters (C0 and C1), line and paragraph separators, lone surrogates, and format characters, which change the
 * writing direction or are invisible. Excepted are soft hyphen and the joiners of letters and emoji.
 */
const TERMINAL_UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}[\p{Cf}--[\u00ad\u200c\u200d]]]/gv;
/** A change of colour or weight. */
const COLOUR = "\\u001b\\[[\\d;]*m";
const COLOURS = new RegExp(`(${COLOUR})`);

/**
 * Makes text from outside safe to print on one line: terminal sequences are dropped, what is left of control,
 * direction and line-breaking characters is shown as an escape instead of acted on.
 */
export function sanitizeLine(text: string): string {
  return stripVTControlCharacters(text).replaceAll("\t", " ").replaceAll(TERMINAL_UNSAFE, escape);
}

/** The same for text of several lines. */
export function sanitizeLines(text: string): string[] {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines.map(sanitizeLine);
}

/**
 * The last look at text that goes to a terminal, laid out in lines already: whatever was not made safe where it was laid
 * out is shown as an escape.
 *
 * @param allowsColour the program's own colours are in it
 */
export function sanitizeOutput(text: string, allowsColour: boolean): string {
  const parts = allowsColour ? text.split(COLOURS) : [text];
  return parts
    .map((part, index) =>
      index % 2 === 1 ? part : part.replaceAll(TERMINAL_UNSAFE, (one) => (one === "\n" ? one : escape(one))),
    )
    .join("");
}

/** A value as JSON has it, with every text in it safe to print on one line. */
export function sanitizeValue<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_name, field: unknown) => {
    return typeof field === "string" ? sanitizeLine(field) : field;
  }) as T;
}

/** JSON on one line, or indented, with everything escaped that a terminal might act on. Still the same JSON value. */
export function safeJson(value: unknown, indent?: number): string {
  return escapeJson(JSON.stringify(value, undefined, indent));
}

/** The same for a text that is JSON already, or lines of it. */
export function escapeJson(json: string): string {
  return json.replaceAll(TERMINAL_UNSAFE, (character) => (character === "\n" ? character : escapeForJson(character)));
}

function escape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code <= 0xff ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
}

/** Characters beyond the basic plane have two escapes. */
function escapeForJson(character: string): string {
  let escapes = "";
  for (let at = 0; at < character.length; at++) {
    escapes += `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }
  return escapes;
}
