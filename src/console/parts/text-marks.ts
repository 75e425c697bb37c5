/** A part of a text: as it is, or a character that is shown by its number. */
export interface TextPart {
  readonly text: string;
  readonly isMark: boolean;
  readonly title: string;
}

// Control characters, lone surrogates, line separators, marks of direction, and characters without a width. Joiners stay:
// scripts and emoji need them.
const MARKS = /[\p{Cc}\p{Cs}\u061C\u200B\u200E\u200F\u2028\u2029\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/u;
const EACH_MARK = new RegExp(`(${MARKS.source})`, "u");
const LINE_CHARACTERS = /^[\n\t]$/;

/** Whether a text has characters that are shown as marks. */
export function hasMarks(text: string): boolean {
  return MARKS.test(text);
}

/** Splits a text into what is shown as it is and the characters that are shown as marks, such as `U+202E`. */
export function splitMarks(text: string, keepsLines: boolean): TextPart[] {
  if (!hasMarks(text)) return [{ text, isMark: false, title: "" }];
  const parts = text.split(EACH_MARK).filter((part) => part !== "");
  return parts.map((part) => {
    if (!hasMarks(part) || (keepsLines && LINE_CHARACTERS.test(part))) return { text: part, isMark: false, title: "" };
    const name = `U+${(part.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
    return { text: name, isMark: true, title: `The character ${name}, which is not shown as it is.` };
  });
}

/** Cuts a text to a length without splitting a character. */
export function clip(text: string, max: number): { readonly shown: string; readonly hidden: number } {
  if (text.length <= max) return { shown: text, hidden: 0 };
  const isSplit = /[\uD800-\uDBFF]/.test(text[max - 1] ?? "");
  const shown = text.slice(0, isSplit ? max - 1 : max);
  return { shown, hidden: text.length - shown.length };
}
