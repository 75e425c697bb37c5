import { z } from "zod";
import { parseBoundedJson } from "../values/bounded-json.ts";
import { explainTagKey, isTagValue, TYPE_KEY } from "./tags.ts";

/*
 * Selectors of assets by their tags and their type, written as label selectors in Kubernetes:
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
 * Two things differ. `*` selects every asset, and an empty selector is refused: a fleet over everything is never an accident.
 * The value of `type` may be in double quotes, since types are free text.
 */

/** Maximum length of a selector, in characters. */
const MAX_SELECTOR_LENGTH = 1024;

/** Maximum number of its terms. */
const MAX_TERMS = 20;

/** The selector of every asset. */
const EVERY_ASSET = "*";

/** One condition. A selector matches an asset for which all of its terms hold. */
export type SelectorTerm =
  /** Has the key with one of these values. */
  | { readonly op: "in"; readonly key: string; readonly values: readonly string[] }
  /** Has the key with none of these values, or does not have it. */
  | { readonly op: "not_in"; readonly key: string; readonly values: readonly string[] }
  | { readonly op: "exists"; readonly key: string }
  | { readonly op: "not_exists"; readonly key: string };

/** What a selector looks at. */
export interface Selectable {
  readonly type: string;
  readonly tags: ReadonlyMap<string, string>;
}

export type ParsedSelector =
  | { readonly ok: true; readonly terms: readonly SelectorTerm[] }
  | {
      readonly ok: false;
      /** Offset of the first character that is wrong, from 0. */
      readonly position: number;
      readonly reason: string;
    };

/** Parses a selector. The one of every asset has no terms. */
export function parseSelector(text: string): ParsedSelector {
  if (text.trim() === EVERY_ASSET) return { ok: true, terms: [] };
  if (text.trim() === "") return { ok: false, position: 0, reason: "must not be empty; '*' selects every asset" };
  try {
    return { ok: true, terms: new Parser(text).parse() };
  } catch (error) {
    if (error instanceof SelectorSyntaxError) return { ok: false, position: error.position, reason: error.message };
    throw error;
  }
}

/** Returns the selector in its canonical form, which means the same. */
export function formatSelector(terms: readonly SelectorTerm[]): string {
  return terms.length === 0 ? EVERY_ASSET : terms.map(formatTerm).join(",");
}

export function matchesSelector(terms: readonly SelectorTerm[], asset: Selectable): boolean {
  return terms.every((term) => {
    const value = term.key === TYPE_KEY ? asset.type : asset.tags.get(term.key);
    switch (term.op) {
      case "in":
        return value !== undefined && term.values.includes(value);
      case "not_in":
        return value === undefined || !term.values.includes(value);
      case "exists":
        return value !== undefined;
      case "not_exists":
        return value === undefined;
    }
  });
}

export const selectorSchema = z
  .string()
  .max(MAX_SELECTOR_LENGTH)
  .superRefine((text, context) => {
    const parsed = parseSelector(text);
    if (parsed.ok) return;
    context.addIssue({ code: "custom", message: `at character ${parsed.position + 1}: ${parsed.reason}` });
  })
  .meta({
    description:
      "Comma-separated conditions on tags and on `type`, all of which must hold: `key=value`, `key!=value`, `key in (a,b)`, " +
      "`key notin (a,b)`, `key` and `!key`. `*` selects every asset.",
    examples: ["role=kiosk,region!=south,beta"],
  });

function formatTerm({ op, key, ...rest }: SelectorTerm): string {
  if (op === "exists") return key;
  if (op === "not_exists") return `!${key}`;
  const values = (rest as { readonly values: readonly string[] }).values.map((value) => formatValue(value));
  if (values.length === 1) return `${key}${op === "in" ? "=" : "!="}${values[0]}`;
  return `${key} ${op === "in" ? "in" : "notin"} (${values.join(",")})`;
}

function formatValue(value: string): string {
  return isTagValue(value) ? value : JSON.stringify(value);
}

class SelectorSyntaxError extends Error {
  readonly position: number;

  constructor(position: number, message: string) {
    super(message);
    this.position = position;
  }
}

const SPACE = /[ \t\r\n]*/y;
const WORD = /[^\s,()=!"]*/y;
const QUOTED = /"(?:[^"\\]|\\.)*"/y;
const EQUALS = /==?/y;

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): readonly SelectorTerm[] {
    const terms: SelectorTerm[] = [];
    do {
      if (terms.length === MAX_TERMS) this.#fail(`must not have more than ${MAX_TERMS} conditions`);
      terms.push(this.#term());
    } while (this.#takes(","));
    if (this.#at < this.#text.length) this.#fail("expected ',' or the end");
    return terms;
  }

  #term(): SelectorTerm {
    if (this.#takes("!")) return { op: "not_exists", key: this.#key() };
    const key = this.#key();
    if (this.#takes("!=")) return { op: "not_in", key, values: [this.#value(key)] };
    if (this.#match(EQUALS) !== "") return { op: "in", key, values: [this.#value(key)] };
    const start = this.#at;
    const word = this.#match(WORD);
    if (word === "in" || word === "notin")
      return { op: word === "in" ? "in" : "not_in", key, values: this.#values(key) };
    this.#at = start;
    if (word !== "") this.#fail("expected '=', '!=', 'in', 'notin' or ','");
    return { op: "exists", key };
  }

  #values(key: string): readonly string[] {
    if (!this.#takes("(")) this.#fail("expected '('");
    const values: string[] = [];
    do values.push(this.#value(key));
    while (this.#takes(","));
    if (!this.#takes(")")) this.#fail("expected ',' or ')'");
    return [...new Set(values)];
  }

  #key(): string {
    this.#skipSpace();
    const start = this.#at;
    const key = this.#match(WORD);
    const problem = key === "" ? "expected the key of a tag" : explainTagKey(key);
    if (problem === undefined) return key;
    this.#at = start;
    return this.#fail(key === "" ? problem : `the key ${key} ${problem}`);
  }

  #value(key: string): string {
    this.#skipSpace();
    const start = this.#at;
    const quoted = this.#match(QUOTED);
    const value = quoted === "" ? this.#match(WORD) : unquote(quoted);
    // No type has control characters, and databases refuse some.
    const isType = quoted !== "" && key === TYPE_KEY && value !== undefined && !/[\p{Cc}\p{Cs}]/u.test(value);
    if (value !== undefined && (isTagValue(value) || isType)) return value;
    this.#at = start;
    return this.#fail(
      key === TYPE_KEY
        ? "this type must be in double quotes"
        : "the value must be empty or 1 to 63 letters, digits, '.', '_' or '-', beginning and ending with a letter or digit",
    );
  }

  #takes(symbol: string): boolean {
    this.#skipSpace();
    if (!this.#text.startsWith(symbol, this.#at)) return false;
    // `!=` is one symbol.
    if (symbol === "!" && this.#text[this.#at + 1] === "=") return false;
    this.#at += symbol.length;
    return true;
  }

  #match(pattern: RegExp): string {
    this.#skipSpace();
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#at;
    this.#at += SPACE.exec(this.#text)?.[0].length ?? 0;
  }

  #fail(reason: string): never {
    throw new SelectorSyntaxError(this.#at, reason);
  }
}

function unquote(quoted: string): string | undefined {
  try {
    return parseBoundedJson(quoted, "short") as string;
  } catch {
    return undefined;
  }
}
