/*
 * JSON from outside is counted before it is parsed. `JSON.parse` and schemas cost memory and time for each value, far more than
 * the bytes of one: a list of half a million empty objects fits into 1.5 MB of text.
 */

/** Bounds of a document, checked before any of it is parsed. */
export interface JsonLimits {
  /** Bytes of the text in UTF-8. */
  readonly maxBytes: number;
  /** Values at all levels together: objects, lists, texts, numbers and literals. The name of a field counts as one, too. */
  readonly maxValues: number;
  /** A text up to this length is not counted: its sender nests nothing, and so few values are within any bound. */
  readonly uncountedBytes?: number;
}

/* Of Node.js and browsers alike: the protocol has the types of neither. */
declare const TextEncoder: new () => { encode(text: string): Uint8Array };
declare const TextDecoder: new () => { decode(bytes: Uint8Array): string };

const KIB = 1024;
const MIB = 1024 * KIB;

/** The bounds of each kind of document that comes from outside. */
export const JSON_LIMITS = {
  /** A WebSocket message between agent and control plane, or an answer in it. */
  frame: { maxBytes: MIB, maxValues: 100_000 },
  /** A text message about a stream. */
  stream_frame: { maxBytes: 256 * KIB, maxValues: 2_000 },
  /** The body of a request to the API, or to the agent's socket. */
  request: { maxBytes: MIB, maxValues: 50_000 },
  /** A response of the API, or of the agent's socket. */
  response: { maxBytes: 8 * MIB, maxValues: 200_000 },
  /** A manifest, an index, a list of referrers, or the configuration of an image. */
  registry: { maxBytes: 4 * MIB, maxValues: 50_000 },
  /** A token, an error, or what else is a few fields. */
  short: { maxBytes: 64 * KIB, maxValues: 2_000 },
  /** A response of an identity provider: its description, its keys, tokens with many claims. */
  oidc: { maxBytes: 256 * KIB, maxValues: 5_000 },
  /** A response of a SIM operator. A page of 1,000 records has about 1 MiB. */
  operator: { maxBytes: 8 * MIB, maxValues: 200_000 },
  /** A response of the container engine, with what images and registries have put into it: labels, variables, volumes. */
  engine: { maxBytes: 4 * MIB, maxValues: 100_000, uncountedBytes: 256 * KIB },
  /** A message between instances of the service: at most what a device sends in a frame, and who sent it. */
  instance: { maxBytes: 2 * MIB, maxValues: 100_100 },
  /** A file that a person has written or named, such as a configuration. */
  file: { maxBytes: MIB, maxValues: 50_000 },
  /** One line of tar-split data. It may be the padding at the end of a tar, which tools make up to 1 MiB long. */
  tar_split_line: { maxBytes: 4 * MIB, maxValues: 100 },
  /** One entry of a table of contents. It may have extended attributes, of up to 64 KiB each. */
  toc_entry: { maxBytes: MIB, maxValues: 2_000 },
} as const satisfies Record<string, JsonLimits>;

export type JsonKind = keyof typeof JSON_LIMITS;

/** Maximum nesting of objects and lists. Deeper than any document needs, and safe for recursive code. */
export const MAX_NESTING_DEPTH = 64;

/** Maximum length of a field's name. V8 hashes names above 16 KiB by their length alone, so that many would collide. */
export const MAX_NAME_BYTES = 4 * KIB;

/** A document exceeds a bound. The message contains nothing of it, such as `has more than 2000 values`. */
export class JsonLimitError extends Error {
  override readonly name = "JsonLimitError";
}

/**
 * Parses JSON from outside.
 *
 * @throws {JsonLimitError} if it exceeds a bound of its kind; nothing of it was parsed
 * @throws {SyntaxError} if it is not JSON
 */
export function parseBoundedJson(json: Uint8Array | string, kind: JsonKind): unknown {
  requireBoundedJson(json, kind);
  return JSON.parse(typeof json === "string" ? json : new TextDecoder().decode(json)) as unknown;
}

/**
 * Checks the bounds of a document that another parser reads. Valid JSON is not required.
 *
 * @throws {JsonLimitError}
 */
export function requireBoundedJson(json: Uint8Array | string, kind: JsonKind): void {
  const limits: JsonLimits = JSON_LIMITS[kind];
  if (json.length > limits.maxBytes) throw tooLong(limits);
  const bytes = typeof json === "string" ? new TextEncoder().encode(json) : json;
  if (bytes.length > limits.maxBytes) throw tooLong(limits);
  if (bytes.length <= (limits.uncountedBytes ?? 0)) return;
  count(bytes, limits.maxValues);
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
/** A text of this length is read byte by byte. */
const SHORT_TEXT_BYTES = 256;
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

/** What has to be looked at of each byte outside of texts: most bytes are `NOTHING`, whatever the document. */
const [NOTHING, TEXT, VALUE, NAME, OPEN, CLOSE] = [0, 1, 2, 3, 4, 5];
const MEANING = new Uint8Array(256);
MEANING[QUOTE] = TEXT;
MEANING[COMMA] = VALUE;
MEANING[COLON] = NAME;
MEANING[OPEN_OBJECT] = OPEN;
MEANING[OPEN_LIST] = OPEN;
MEANING[CLOSE_OBJECT] = CLOSE;
MEANING[CLOSE_LIST] = CLOSE;

/** Reads each byte once, and allocates nothing. Every value but the first stands behind one of `[ { , :`. */
function count(bytes: Uint8Array, maxValues: number): void {
  let values = 0;
  let depth = 0;
  let textLength = 0;
  const { length } = bytes;
  for (let at = 0; at < length; at++) {
    const meaning = MEANING[bytes[at] as number] as number;
    if (meaning === NOTHING) continue;
    if (meaning === TEXT) {
      const start = at + 1;
      at = endOfText(bytes, start);
      textLength = at - start;
    } else if (meaning === CLOSE) depth--;
    else {
      if (++values > maxValues) throw new JsonLimitError(`has more than ${maxValues} values`);
      if (meaning === NAME && textLength > MAX_NAME_BYTES)
        throw new JsonLimitError(`has a field whose name is longer than ${MAX_NAME_BYTES} bytes`);
      if (meaning === OPEN && ++depth > MAX_NESTING_DEPTH)
        throw new JsonLimitError(`is nested more than ${MAX_NESTING_DEPTH} deep`);
    }
  }
}

/** Position of the quotation mark that ends a text; the end of the bytes, or one more, if there is none. */
function endOfText(bytes: Uint8Array, start: number): number {
  const near = Math.min(start + SHORT_TEXT_BYTES, bytes.length);
  let at = start;
  while (at < near && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  if (at < near || at >= bytes.length) return at;
  // Searching is native: ten times as fast for the contents of a file.
  const end = bytes.indexOf(QUOTE, at);
  if (end !== -1 && bytes.subarray(at, end).indexOf(BACKSLASH) === -1) return end;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

function tooLong({ maxBytes }: JsonLimits): JsonLimitError {
  return new JsonLimitError(`has more than ${maxBytes} bytes`);
}
