import { CONTENT_DIGEST_BYTES } from "../content-digest.ts";
import { ContentTable } from "../content-table.ts";
import { type ContentDigest, type ContentPart, LayoutError } from "../layer-layout.ts";
import { type LayoutLimits, MAX_TAR_BYTES } from "../limits.ts";
import type { FileTable } from "./file-table.ts";
import { MAX_PARTS } from "./format.ts";
import { TableReader } from "./varint.ts";

interface Contents {
  readonly contents: ContentTable;
  /** Files, contents and parts. */
  readonly entries: number;
  /** Whether the parts end where the headers begin. */
  readonly isAllRead: boolean;
}

/**
 * Reads the columns of files, contents and parts.
 *
 * @param endOfParts offset in the pack
 * @throws {LayoutError}
 */
export function readContents(table: TableReader, files: FileTable, endOfParts: number, limits: LayoutLimits): Contents {
  const count = (what: string): number => table.varint(`the number of ${what}`, limits.maxEntries);
  const [fileCount, contentCount, partCount] = [count("files"), count("contents"), count("parts")];
  if (fileCount + contentCount + partCount > limits.maxEntries) {
    throw new LayoutError(`the index has more than ${limits.maxEntries} files and parts`);
  }
  // Every number takes a byte: an index that lies about its counts ends before memory is taken for them.
  if (fileCount * 2 + contentCount + partCount * (2 + CONTENT_DIGEST_BYTES) > table.rest) {
    throw new LayoutError("the index is cut off");
  }
  files.read(table, fileCount, contentCount);
  const partsOf = table.column(contentCount);
  const parts = new PartColumns(table, partCount, endOfParts);
  const contents = new ContentTable("pack", limits.maxEntries);
  for (let content = 0; content < contentCount; content++) {
    const own = parts.take(partsOf.varint("the number of parts", MAX_PARTS) + 1);
    const digest = own.length === 1 ? (own[0]?.digest ?? "") : table.take(CONTENT_DIGEST_BYTES).toString("hex");
    contents.add({ digest, parts: own });
  }
  return { contents, entries: fileCount + contentCount + partCount, isAllRead: parts.isAtEnd };
}

/** The columns of parts, read side by side. */
class PartColumns {
  readonly #sizes: TableReader;
  readonly #lengths: TableReader;
  readonly #digests: TableReader;
  readonly #endOfParts: number;
  /** Parts by digest, as far as they may be repeated. */
  readonly #known = new Map<ContentDigest, ContentPart>();
  readonly #isRepeated: boolean;
  #left: number;
  #offset = 0;

  constructor(table: TableReader, count: number, endOfParts: number) {
    this.#left = count;
    this.#endOfParts = endOfParts;
    this.#sizes = table.column(count);
    const lengths = table.column(count);
    this.#lengths = lengths.column(0);
    this.#isRepeated = hasZero(lengths, count);
    this.#digests = new TableReader(table.take(count * CONTENT_DIGEST_BYTES));
  }

  /** Whether all parts were taken, and end where the headers begin. */
  get isAtEnd(): boolean {
    return this.#left === 0 && this.#offset === this.#endOfParts;
  }

  take(count: number): ContentPart[] {
    if (count > this.#left) throw new LayoutError("a content in the index lacks parts");
    this.#left -= count;
    return Array.from({ length: count }, () => this.#next());
  }

  #next(): ContentPart {
    const digest = this.#digests.take(CONTENT_DIGEST_BYTES).toString("hex");
    const size = this.#sizes.varint("the size of a part", MAX_TAR_BYTES);
    const length = this.#lengths.varint("the length of a part", this.#endOfParts - this.#offset);
    const earlier = length === 0 ? this.#known.get(digest) : undefined;
    if (size === 0 || (length === 0 && earlier?.size !== size)) throw new LayoutError("a part in the index is empty");
    const part = earlier ?? { digest, size, blob: "pack", offset: this.#offset, length, compression: "zstd" };
    if (this.#isRepeated) this.#known.set(digest, part);
    this.#offset += length;
    return part;
  }
}

function hasZero(column: TableReader, count: number): boolean {
  for (let left = count; left > 0; left--) if (column.varint("a length", Number.MAX_SAFE_INTEGER) === 0) return true;
  return false;
}
