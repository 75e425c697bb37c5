import type { ContentTable } from "../content-table.ts";
import { type Content, LayoutError, type PlacedBytes, type Segment } from "../layer-layout.ts";
import { unpack } from "../unpack.ts";
import { fileSegments } from "./file-segments.ts";
import { paddingOf, TAR_BLOCK_BYTES } from "./tar-header.ts";
import type { TableReader } from "./varint.ts";

/** The files of an index: what precedes each content among the headers, and which content it is. */
export class FileTable {
  readonly #headerBytes: number;
  /** As in the table: times two, plus one if zeros pad the content. */
  readonly #gaps: number[] = [];
  readonly #contents: number[] = [];

  /** @param headerBytes of the layer, unpacked */
  constructor(headerBytes: number) {
    this.#headerBytes = headerBytes;
  }

  /** @throws {LayoutError} */
  read(table: TableReader, fileCount: number, contentCount: number): void {
    let left = this.#headerBytes;
    for (let file = 0; file < fileCount; file++) {
      const gap = table.varint("a number of header bytes", left * 2 + 1);
      if (gap < TAR_BLOCK_BYTES * 2) throw new LayoutError("a file in the index has no header");
      left -= Math.floor(gap / 2);
      this.#gaps.push(gap);
    }
    let known = 0;
    for (let file = 0; file < fileCount; file++) {
      const reference = table.varint("a reference", contentCount);
      const content = reference === 0 ? known++ : reference - 1;
      if (content >= known || known > contentCount)
        throw new LayoutError("a file in the index has a content that is not there");
      this.#contents.push(content);
    }
    if (known !== contentCount) throw new LayoutError("the index has contents that belong to no file");
  }

  /** Bytes of the tar that these files make up. */
  tarSize(contents: ContentTable): number {
    let size = this.#headerBytes;
    this.#gaps.forEach((gap, file) => {
      const content = contents.at(this.#contents[file] ?? 0);
      size += content.size + (gap % 2 === 1 ? paddingOf(content.size) : 0);
    });
    return size;
  }

  *contents(contents: ContentTable): Generator<Content> {
    for (const content of this.#contents) yield contents.at(content);
  }

  /** @throws {LayoutError} if the headers are not those of the index */
  segments(
    contents: ContentTable,
    headers: PlacedBytes,
    packed: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Iterable<Segment>> {
    const files = { length: this.#gaps.length, gapOf: this.#gapOf, contentOf: this.#contentOf(contents) };
    return fileSegments(files, unpack(headers, packed));
  }

  readonly #gapOf = (file: number): number => this.#gaps[file] as number;

  readonly #contentOf = (contents: ContentTable) => (file: number) => contents.at(this.#contents[file] as number);
}
