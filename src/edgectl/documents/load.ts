import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Pair,
  parseDocument,
  type Tags,
} from "yaml";
import type { DocumentNode, MapEntry, MapNode, MergeTag, Place, ScalarNode } from "./node.ts";
import type { Problems } from "./problems.ts";

const MAX_FILE_BYTES = 1024 * 1024;

/** Values of a document, with each use of an alias counted as the values it stands for. */
const MAX_NODES = 50_000;

/** Tokens of a file, counted before the library builds a tree of them: about three for each value. */
const MAX_TOKENS = 250_000;

/** Characters of all texts of a document, with each use of an alias counted. */
const MAX_TEXT_LENGTH = 4 * 1024 * 1024;

/** Maps and lists inside each other. */
const MAX_DEPTH = 64;

const MERGE_KEY = "<<";
const START: Place = { line: 1, column: 1 };

/**
 * Parses a YAML 1.2 or JSON document with anchors, aliases and merge keys. Returns `undefined`, with the problems added,
 * if it is not valid. No message repeats a value of the document.
 *
 * @param file its name, if it is not the file that `problems` are of
 */
export function loadDocument(text: string, problems: Problems, file?: string): DocumentNode | undefined {
  const inFile = file === undefined ? {} : { file };
  const excess = Buffer.byteLength(text) > MAX_FILE_BYTES ? "The file is larger than 1 MiB." : findExcess(text);
  if (excess !== undefined) {
    problems.add({ ...START, ...inFile }, excess);
    return undefined;
  }
  const lines = new LineCounter();
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col, ...inFile };
  };
  const document = parse(text.replace(/^\uFEFF/, ""), lines);
  if (!document) {
    problems.add({ ...START, ...inFile }, TOO_DEEP);
    return undefined;
  }
  const faults = [...document.errors, ...document.warnings];
  for (const { code, message, pos } of faults)
    problems.add(placeAt(pos[0]), code === "MULTIPLE_DOCS" ? SEVERAL_DOCUMENTS : message);
  if (faults.length > 0) return undefined;
  try {
    return new Reader(placeAt).read(document.contents);
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error;
    problems.add(error.place, error.message);
    return undefined;
  }
}

/** Counts what a document has before there is a tree of it. Returns what is wrong. */
function findExcess(text: string): string | undefined {
  let count = 0;
  let depth = 0;
  for (const token of new Lexer().lex(text)) {
    if (++count > MAX_TOKENS) return "The file has too many lines and values to be a document of apps.";
    if (token === "[" || token === "{") depth++;
    else if (token === "]" || token === "}") depth--;
    if (depth > MAX_DEPTH) return TOO_DEEP;
  }
  return undefined;
}

function parse(text: string, lineCounter: LineCounter): Document | undefined {
  try {
    return parseDocument(text, {
      version: "1.2",
      // The reader resolves merge keys itself, to count them, and finds keys that are there twice: the library would compare each
      // key with all others.
      merge: false,
      uniqueKeys: false,
      customTags: CUSTOM_TAGS,
      lineCounter,
      prettyErrors: false,
      logLevel: "error",
    });
  } catch (error) {
    // Of the stack: lists are nested too deep.
    if (!(error instanceof RangeError)) throw error;
    return undefined;
  }
}

const MERGE_TAGS: Readonly<Record<string, MergeTag>> = { "!reset": "reset", "!override": "override" };

/** `!!merge <<` is what `<<` alone is; the others are of the Compose specification. A tag is one of a kind of value. */
const CUSTOM_TAGS: Tags = [
  { tag: "tag:yaml.org,2002:merge", resolve: (text: string) => text },
  ...Object.keys(MERGE_TAGS).flatMap((tag) => [
    { tag, resolve: (text: string) => (text === "" || text === "null" ? null : text) },
    { tag, collection: "map" as const },
    { tag, collection: "seq" as const },
  ]),
];

const SEVERAL_DOCUMENTS = "The file has several documents, and there can be one: write each to a file of its own.";
const TOO_DEEP = `Maps and lists are nested more than ${MAX_DEPTH} deep.`;

class DocumentError extends Error {
  readonly place: Place;

  constructor(place: Place, message: string) {
    super(message);
    this.place = place;
  }
}

interface Anchored {
  readonly node: DocumentNode;
  /** Number of values, aliases included. */
  readonly size: number;
  /** Characters of its texts, aliases included. */
  readonly length: number;
}

/** Reads the library's tree. An anchor's part is read once and shared by its aliases, and counted for each of them. */
class Reader {
  readonly #placeAt: (offset: number) => Place;
  /** `undefined`: not read to its end yet. */
  readonly #anchors = new Map<string, Anchored | undefined>();
  #count = 0;
  #length = 0;
  #place = START;
  #depth = 0;

  constructor(placeAt: (offset: number) => Place) {
    this.#placeAt = placeAt;
  }

  read(item: unknown): DocumentNode {
    const range = (item as { range?: readonly number[] | null } | null)?.range;
    if (range?.[0] !== undefined) this.#place = this.#placeAt(range[0]);
    if (isAlias(item)) return this.#resolve(item.source);
    const anchor = (item as { anchor?: string } | null)?.anchor;
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    const before = { count: this.#count, length: this.#length };
    const tag = MERGE_TAGS[(item as { tag?: string } | null)?.tag ?? ""];
    const whole = this.#readWhole(item);
    const node = tag === undefined ? whole : { ...whole, tag };
    if (anchor !== undefined) {
      this.#anchors.set(anchor, { node, size: this.#count - before.count, length: this.#length - before.length });
    }
    return node;
  }

  #resolve(anchor: string): DocumentNode {
    const anchored = this.#anchors.get(anchor);
    if (!anchored) this.#fail(`The alias *${anchor} is inside what it stands for.`);
    this.#add(anchored.size, anchored.length);
    return anchored.node;
  }

  #readWhole(item: unknown): DocumentNode {
    const place = this.#place;
    this.#add(1);
    if (!isMap(item) && !isSeq(item)) {
      const scalar = this.#scalar(item, place);
      this.#add(0, scalar.source.length);
      return scalar;
    }
    if (++this.#depth > MAX_DEPTH) this.#fail(TOO_DEEP);
    const node: DocumentNode = isMap(item)
      ? this.#map(item.items, place)
      : { kind: "list", place, items: item.items.map((each) => this.read(each)) };
    this.#depth--;
    return node;
  }

  #scalar(item: unknown, place: Place): ScalarNode {
    const value: unknown = isScalar(item) ? item.value : null;
    if (typeof value === "string") return { kind: "scalar", place, value, source: value };
    const source = isScalar(item) && item.source !== undefined ? item.source : "";
    if (typeof value === "number" || typeof value === "boolean") return { kind: "scalar", place, value, source };
    return { kind: "scalar", place, value: null, source };
  }

  #map(pairs: readonly Pair[], place: Place): MapNode {
    const own: MapEntry[] = [];
    const keys = new Set<string>();
    const merged: MapEntry[] = [];
    for (const pair of pairs) {
      const key = this.#key(pair.key);
      const keyPlace = this.#place;
      if (keys.size === keys.add(key).size) this.#fail("Map keys must be unique");
      const value = this.read(pair.value);
      if (key === MERGE_KEY) merged.push(...this.#merged(value));
      else own.push({ key, place: keyPlace, value });
    }
    const entries = new Map<string, MapEntry>();
    for (const entry of [...own, ...merged]) if (!entries.has(entry.key)) entries.set(entry.key, entry);
    return { kind: "map", place, entries: [...entries.values()] };
  }

  /** The first of several maps takes precedence, as do a map's own entries. */
  #merged(value: DocumentNode): MapEntry[] {
    const maps = value.kind === "list" ? value.items : [value];
    return maps.flatMap((map) => {
      if (map.kind !== "map") this.#fail("`<<` takes a map, or a list of maps.");
      this.#add(map.entries.length);
      return map.entries;
    });
  }

  #key(item: unknown): string {
    const node = this.read(item);
    if (node.kind === "scalar" && node.value !== null) return node.source;
    this.#place = node.place;
    return this.#fail("A key must be a text.");
  }

  #add(count: number, length = 0): void {
    this.#count += count;
    this.#length += length;
    if (this.#length > MAX_TEXT_LENGTH) {
      this.#fail("The document has more than 4 MiB of text, that behind aliases included.");
    }
    if (this.#count <= MAX_NODES) return;
    this.#fail(`The document has more than ${MAX_NODES.toLocaleString("en")} values, those behind aliases included.`);
  }

  #fail(message: string): never {
    throw new DocumentError(this.#place, message);
  }
}
