import { LayoutError } from "../layer-layout.ts";
import { MAX_TAR_BYTES, requireInteger } from "../limits.ts";

const NEWLINE = 0x0a;
/** A segment has a header with its extensions, or the padding at the end, which tools make up to 1 MiB long. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;
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
  let rest: Uint8Array = new Uint8Array();
  for await (const chunk of unpacked) {
    const end = chunk.lastIndexOf(NEWLINE);
    if (end !== -1) {
      yield entriesOf(rest, chunk.subarray(0, end + 1));
      rest = new Uint8Array();
    }
    rest = Buffer.concat([rest, chunk.subarray(end + 1)]);
    if (rest.length > MAX_LINE_BYTES) throw new LayoutError("a line of the tar-split data is too long");
  }
  if (rest.length > 0) yield [parseEntry(rest)];
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
    const value: unknown = JSON.parse(Buffer.from(line).toString("utf8"));
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Answered below.
  }
  throw new LayoutError("a line of the tar-split data is not a JSON object");
}
