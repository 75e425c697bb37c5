import { CONTENT_DIGEST_BYTES } from "../content-digest.ts";
import { ContentTable } from "../content-table.ts";
import { type ContentPart, LayoutError } from "../layer-layout.ts";
import { type LayoutLimits, MAX_TAR_BYTES } from "../limits.ts";
import type { FileTable } from "./file-table.ts";
import type { TableReader } from "./varint.ts";

interface Contents {
  readonly contents: ContentTable;
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
  const column = (length: number, max: number): number[] => Array.from({ length }, () => table.varint("a number", max));
  const partsOf = column(contentCount, partCount);
  const sizes = column(partCount, MAX_TAR_BYTES);
  const lengths = column(partCount, endOfParts);
  const parts = placeParts(table, sizes, lengths);
  const contents = new ContentTable("pack", limits.maxEntries);
  let at = 0;
  for (const more of partsOf) {
    const own = parts.slice(at, at + more + 1);
    at += more + 1;
    if (own.length !== more + 1) throw new LayoutError("a content in the index lacks parts");
    const digest = more === 0 ? (own[0]?.digest ?? "") : table.take(CONTENT_DIGEST_BYTES).toString("hex");
    contents.add({ digest, parts: own });
  }
  if (at !== partCount) throw new LayoutError("the index has parts that belong to no content");
  return { contents, isAllRead: lengths.reduce((sum, length) => sum + length, 0) === endOfParts };
}

function placeParts(table: TableReader, sizes: readonly number[], lengths: readonly number[]): ContentPart[] {
  let offset = 0;
  const isRepeated = lengths.includes(0);
  const known = new Map<string, ContentPart>();
  return sizes.map((size, index) => {
    const digest = table.take(CONTENT_DIGEST_BYTES).toString("hex");
    const length = lengths[index] ?? 0;
    const earlier = length === 0 ? known.get(digest) : undefined;
    if (size === 0 || (length === 0 && earlier?.size !== size)) throw new LayoutError("a part in the index is empty");
    const part = earlier ?? { digest, size, blob: "pack", offset, length, compression: "zstd" };
    if (isRepeated) known.set(digest, part);
    offset += length;
    return part;
  });
}
