import { JSON_LIMITS, JsonLimitError, parseBoundedJson } from "../../../protocol/values/bounded-json.ts";
import { LayoutError } from "../layer-layout.ts";
import { MAX_TAR_BYTES, requireInteger } from "../limits.ts";

const NEWLINE = 0x0a;
const { maxBytes: MAX_LINE_BYTES } = JSON_LIMITS.tar_split_line;
const [FILE, SEGMENT] = [1, 2];

/** An entry of tar-split data: bytes of the tar as they are, or the place of a file's content. */
export type TarSplitEntry =
  | { readonly kind: "segment"; readonly bytes: Uint8Array }
  /** Size 0 for what has no content, such as a directory. */
  | { readonly kind: "file"; readonly size: number };

/**
 * Reads tar-split data, one JSON object a line, from its unpacked stream, in batches.
 *
 * @throws {LayoutError}
 */
export async function* readTarSplit(unpacked: AsyncIterable<Uint8Array>): AsyncGenerator<Iterable<TarSplitEntry>> {
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  for await (const chunk of unpacked) {
    const end = chunk.lastIndexOf(NEWLINE);
    if (end !== -1) {
      yield entriesOf(Buffer.concat(rest), chunk.subarray(0, end + 1));
      rest = [];
      restBytes = 0;
    }
    rest.push(chunk.subarray(end + 1));
    restBytes += chunk.length - end - 1;
    if (restBytes > MAX_LINE_BYTES) throw new LayoutError("a line of the tar-split data is too long");
  }
  if (restBytes > 0) yield [parseEntry(Buffer.concat(rest))];
}

/** @param rest the beginning of the first line; the others are whole */
function* entriesOf(rest: Uint8Array, lines: Uint8Array): Generator<TarSplitEntry> {
  let first = rest;
  let start = 0;
  for (let end = lines.indexOf(NEWLINE); end !== -1; end = lines.indexOf(NEWLINE, start)) {
    const line = lines.subarray(start, end);
    yield parseEntry(first.length === 0 ? line : Buffer.concat([first, line]));
    first = lines.subarray(0, 0);
    start = end + 1;
  }
}

function parseEntry(line: Uint8Array): TarSplitEntry {
  const entry = parseLine(line);
  if (entry["type"] === FILE) {
    return { kind: "file", size: requireInteger(entry["size"] ?? 0, "a size in the tar-split data", 0, MAX_TAR_BYTES) };
  }
  const payload = entry["payload"] ?? "";
  if (entry["type"] !== SEGMENT || typeof payload !== "string")
    throw new LayoutError("an entry of the tar-split data is unknown");
  return { kind: "segment", bytes: Buffer.from(payload, "base64") };
}

function parseLine(line: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value = parseBoundedJson(line, "tar_split_line");
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch (cause) {
    if (cause instanceof JsonLimitError)
      throw new LayoutError(`a line of the tar-split data ${cause.message}`, { cause });
  }
  throw new LayoutError("a line of the tar-split data is not a JSON object");
}
