import type { Place } from "../documents/node.ts";
import type { Problems } from "../documents/problems.ts";
import { interpolate, type Lookup, recordingLookup, TemplateError } from "./interpolate.ts";

/** A variable of the file. Without a value: a name alone, for the value that it has elsewhere. */
export interface FileVariable {
  readonly key: string;
  readonly value?: string;
  /** The variables that were put into the value, by name. */
  readonly inserted: ReadonlyMap<string, string>;
  readonly place: Place;
}

/** Largest file of variables, in bytes. */
export const MAX_ENV_FILE_BYTES = 256 * 1024;

/** Characters of all values of one file, expanded. */
const MAX_VALUES_LENGTH = 1024 * 1024;

const ASSIGNMENT = /(?:export[ \t]+)?([A-Za-z0-9_][\w.-]*)[ \t]*(?:([=:])[ \t]*)?/y;
const REST_OF_LINE = /[^\r\n]*/y;
const SINGLE_QUOTED = /'((?:\\'|[^'])*)'/y;
const DOUBLE_QUOTED = /"((?:\\[\s\S]|[^"\\])*)"/y;

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", "\\": "\\", '"': '"', $: "$$" };

/**
 * Parses `.env`, or a file named by `env_file`, as the Compose specification says: `NAME=value`, with single quotes for
 * literal values and double quotes for values with escapes, both over several lines; ` #` begins a comment; variables are
 * expanded outside single quotes. Problems name the line and never repeat a value.
 */
export function parseEnvFile(text: string, lookup: Lookup, problems: Problems): FileVariable[] {
  return new EnvFile(text.replace(/^\uFEFF/, ""), lookup, problems).parse();
}

class EnvFile {
  readonly #text: string;
  readonly #problems: Problems;
  readonly #lookup: Lookup;
  readonly #found: FileVariable[] = [];
  readonly #values = new Map<string, string>();
  #position = 0;
  #expandedLength = 0;
  /** The variables in the value of the present line. */
  #inserted = new Map<string, string>();
  #place: Place = { line: 1, column: 1 };

  constructor(text: string, lookup: Lookup, problems: Problems) {
    this.#text = text;
    this.#problems = problems;
    // The shell takes precedence over the lines above.
    this.#lookup = (name) => lookup(name) ?? this.#values.get(name);
  }

  parse(): FileVariable[] {
    let counted = 0;
    let line = 1;
    while (this.#position < this.#text.length) {
      for (; counted < this.#position; counted++) if (this.#text.charAt(counted) === "\n") line++;
      this.#place = { line, column: 1 };
      this.#line();
      this.#match(/[\r\n]+/y);
    }
    return this.#found;
  }

  #line(): void {
    this.#match(/[ \t]+/y);
    if (/[#\r\n]/.test(this.#text.charAt(this.#position)) || this.#position === this.#text.length) {
      this.#match(REST_OF_LINE);
      return;
    }
    const [, key, separator] = this.#match(ASSIGNMENT) ?? [];
    if (key === undefined) {
      this.#problem("is not NAME=value.");
      this.#match(REST_OF_LINE);
      return;
    }
    this.#inserted = new Map();
    const value = separator === undefined ? undefined : this.#value();
    if (separator === undefined) this.#expectEnd();
    if (value !== undefined) this.#values.set(key, value);
    this.#found.push({ key, place: this.#place, inserted: this.#inserted, ...(value !== undefined && { value }) });
  }

  #value(): string {
    const quote = this.#text.charAt(this.#position);
    if (quote !== "'" && quote !== '"') {
      const rest = this.#match(REST_OF_LINE)?.[0] ?? "";
      return this.#expand(rest.replace(/(?:^|(?<![ \t])[ \t]+)#.*$/, "").trim());
    }
    const quoted = this.#match(quote === "'" ? SINGLE_QUOTED : DOUBLE_QUOTED)?.[1];
    if (quoted === undefined) {
      this.#problem(`has a ${quote} without the one at its end.`);
      this.#match(REST_OF_LINE);
      return "";
    }
    this.#expectEnd();
    if (quote === "'") return quoted.replaceAll("\\'", "'");
    return this.#expand(quoted.replaceAll(/\\([\s\S])/g, (whole, letter: string) => ESCAPES[letter] ?? whole));
  }

  #expand(value: string): string {
    if (this.#expandedLength > MAX_VALUES_LENGTH) return "";
    try {
      const expanded = interpolate(value, recordingLookup(this.#lookup, this.#inserted));
      this.#expandedLength += expanded.length;
      if (this.#expandedLength <= MAX_VALUES_LENGTH) return expanded;
      this.#problem("makes the values of this file longer than 1 MiB with those of its variables.");
      return "";
    } catch (error) {
      if (!(error instanceof TemplateError)) throw error;
      this.#problem(error.message);
      return "";
    }
  }

  /** A comment may follow. */
  #expectEnd(): void {
    const rest = this.#match(REST_OF_LINE)?.[0] ?? "";
    if (!/^[ \t]*(?:#.*)?$/.test(rest)) this.#problem("has something after the name or the closing quote.");
  }

  #problem(text: string): void {
    this.#problems.add(this.#place, `This line ${text}`);
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#text) ?? undefined;
    this.#position += found?.[0].length ?? 0;
    return found;
  }
}
