import { JSON_LIMITS } from "../../../protocol/values/bounded-json.ts";
import { parseContentDigest } from "../content-digest.ts";
import { ContentTable } from "../content-table.ts";
import { JsonValues } from "../json-values.ts";
import { type ContentPart, LayoutError } from "../layer-layout.ts";
import { type LayoutLimits, MAX_TAR_BYTES, requireInteger } from "../limits.ts";

const VERSION = 1;

/** What a table of contents says. */
export interface ZstdChunkedToc {
  /** Contents of regular files that are not empty, in the order of the tar. */
  readonly contents: ContentTable;
  /** Values at the top and in its lists: entries of files, directories and chunks, and a few others. */
  readonly entries: number;
  /** `sha256:…` of the tar-split data, packed. */
  readonly tarSplitDigest: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** A file whose further chunks may follow. */
interface OpenFile {
  readonly digest: unknown;
  readonly size: number;
  readonly endOffset: number;
  readonly chunks: Fields[];
}

/**
 * Reads a table of contents, the JSON text of which comes as a stream. Parts must be in the order of the blob and must not
 * overlap, as all writers have them.
 *
 * @param endOfContents offset in the blob before which all parts are
 * @throws {LayoutError}
 */
export async function readToc(
  json: AsyncIterable<Uint8Array>,
  endOfContents: number,
  limits: LayoutLimits,
): Promise<ZstdChunkedToc> {
  const reader = new TocReader(endOfContents, limits);
  const values = new JsonValues(JSON_LIMITS.toc_entry.maxBytes);
  let version: unknown;
  let entries = 0;
  let tarSplitDigest: unknown;
  for await (const chunk of json) {
    for (const { key, value } of values.read(chunk)) {
      if (++entries > limits.maxEntries)
        throw new LayoutError(`the table of contents has more than ${limits.maxEntries} entries`);
      if (key === "entries") reader.add(value);
      else if (key === "version") version = value;
      else if (key === "tarSplitDigest") tarSplitDigest = value;
    }
  }
  values.end();
  if (version !== VERSION) throw new LayoutError("the table of contents has an unknown version");
  if (typeof tarSplitDigest !== "string")
    throw new LayoutError("the table of contents has no digest of the tar-split data");
  return { contents: reader.end(), entries, tarSplitDigest };
}

class TocReader {
  readonly #endOfContents: number;
  readonly #contents: ContentTable;
  #open: OpenFile | undefined;
  /** Offset behind the parts so far. */
  #end = 0;

  constructor(endOfContents: number, { maxEntries }: LayoutLimits) {
    this.#endOfContents = endOfContents;
    this.#contents = new ContentTable("layer", maxEntries);
  }

  add(value: unknown): void {
    if (typeof value !== "object" || value === null)
      throw new LayoutError("an entry of the table of contents is no object");
    const entry = value as Fields;
    if (entry["type"] === "chunk") return this.#addChunk(entry);
    this.#close();
    if (typeof entry["name"] !== "string") throw new LayoutError("an entry of the table of contents has no name");
    if (/(?:^|\/)\.\.(?:\/|$)/.test(entry["name"]))
      throw new LayoutError("an entry of the table of contents has a path with ..");
    if (entry["type"] !== "reg") return;
    const size = requireInteger(entry["size"] ?? 0, "the size of a file", 0, MAX_TAR_BYTES);
    if (size > 0)
      this.#open = {
        digest: entry["digest"],
        size,
        endOffset: this.#offset(entry["endOffset"]),
        chunks: [chunkOf(entry)],
      };
  }

  end(): ContentTable {
    this.#close();
    return this.#contents;
  }

  #addChunk(entry: Fields): void {
    if (this.#open === undefined) throw new LayoutError("the table of contents has a chunk that belongs to no file");
    this.#open.chunks.push(chunkOf(entry));
  }

  #close(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const { size, chunks, endOffset } = open;
    const digest = parseContentDigest(open.digest);
    const isWhole = chunks.length === 1;
    const parts: ContentPart[] = [];
    let filled = 0;
    for (const [index, chunk] of chunks.entries()) {
      const part = isWhole ? { ...chunk, chunkSize: size, chunkDigest: digest, chunkOffset: 0, chunkType: "" } : chunk;
      const next = chunks[index + 1];
      if ((part["chunkOffset"] ?? 0) !== filled) throw new LayoutError("the chunks of a file leave a gap or overlap");
      parts.push(
        this.#part(part, isWhole ? digest : undefined, next === undefined ? endOffset : this.#offset(next["offset"])),
      );
      filled += parts.at(-1)?.size ?? 0;
      if (filled > size) throw new LayoutError("the chunks of a file are larger than the file");
    }
    if (filled !== size) throw new LayoutError("the chunks of a file are smaller than the file");
    this.#contents.add({ digest, parts });
  }

  #part(chunk: Fields, digest: string | undefined, end: number): ContentPart {
    const offset = this.#offset(chunk["offset"]);
    const size = requireInteger(chunk["chunkSize"], "the size of a chunk", 1, MAX_TAR_BYTES);
    if (offset < this.#end || end <= offset) throw new LayoutError("parts of the layer overlap or are out of order");
    this.#end = end;
    const isZeros = chunk["chunkType"] === "zeros";
    return {
      digest: digest ?? parseContentDigest(chunk["chunkDigest"]),
      size,
      blob: "layer",
      offset,
      length: isZeros ? 0 : end - offset,
      compression: isZeros ? "zeros" : "zstd",
    };
  }

  #offset(value: unknown): number {
    return requireInteger(value, "an offset in the layer's blob", 0, this.#endOfContents);
  }
}

const CHUNK_FIELDS = ["offset", "chunkSize", "chunkDigest", "chunkOffset", "chunkType"] as const;
const MAX_FIELD_LENGTH = 128;

/** The fields of a chunk that are read. An entry stays in memory until its file ends: what else it has does not. */
function chunkOf(entry: Fields): Fields {
  return Object.fromEntries(CHUNK_FIELDS.flatMap((name) => (name in entry ? [[name, shortValue(entry[name])]] : [])));
}

/** No value that is valid is longer. */
function shortValue(value: unknown): unknown {
  return typeof value === "number" || (typeof value === "string" && value.length <= MAX_FIELD_LENGTH) ? value : false;
}
