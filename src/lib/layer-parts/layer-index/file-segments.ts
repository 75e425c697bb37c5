import { ByteReader } from "../byte-reader.ts";
import { type Content, LayoutError, type Segment } from "../layer-layout.ts";
import { fillDerived } from "./derived-fields.ts";
import { paddingOf, TAR_BLOCK_BYTES } from "./tar-header.ts";

const MAX_LITERAL_BYTES = 64 * 1024;
const PADDING = new Uint8Array(TAR_BLOCK_BYTES);

/** The files of a layer that have content, in the order of the tar. */
export interface Files {
  readonly length: number;
  /** Bytes of headers from the content before to that of the file, times two, plus one if zeros pad the content. */
  readonly gapOf: (file: number) => number;
  readonly contentOf: (file: number) => Content;
}

/**
 * Puts headers and contents in the order of the tar.
 *
 * @param headers unpacked
 * @throws {LayoutError} if the headers are too short
 */
export async function* fileSegments(
  files: Files,
  headers: AsyncIterable<Uint8Array>,
): AsyncGenerator<Iterable<Segment>> {
  await using reader = new ByteReader(headers);
  const segments = new FileSegments(files, reader);
  for (;;) {
    yield segments.atHand();
    const { neededBytes } = segments;
    if (await reader.more(neededBytes)) continue;
    if (segments.isAtEnd) return;
    throw new LayoutError("the headers of the layer are cut off");
  }
}

class FileSegments {
  readonly #files: Files;
  readonly #reader: ByteReader;
  readonly #header = Buffer.alloc(TAR_BLOCK_BYTES);
  #file = 0;
  /** Header bytes before the header of the file itself. */
  #literalBytes: number;

  constructor(files: Files, reader: ByteReader) {
    this.#files = files;
    this.#reader = reader;
    this.#literalBytes = this.#literalsOf(0);
  }

  /** Whether only bytes after the last file may follow. */
  get isAtEnd(): boolean {
    return this.#file === this.#files.length;
  }

  /** Bytes that must be at hand for the next segment. */
  get neededBytes(): number {
    return this.#literalBytes > 0 ? 1 : TAR_BLOCK_BYTES;
  }

  /** Yields the segments whose headers are at hand. */
  *atHand(): Generator<Segment> {
    while (!this.isAtEnd) {
      if (this.#literalBytes > 0) {
        const bytes = this.#reader.takeSomeNow(Math.min(this.#literalBytes, MAX_LITERAL_BYTES));
        if (bytes.length === 0) return;
        this.#literalBytes -= bytes.length;
        yield { kind: "literal", bytes };
        continue;
      }
      const header = this.#reader.takeNow(TAR_BLOCK_BYTES);
      if (!header) return;
      const content = this.#files.contentOf(this.#file);
      yield { kind: "literal", bytes: fillDerived(header, content.size, this.#header) };
      yield { kind: "content", digest: content.digest, size: content.size, parts: content.parts };
      const padding = this.#files.gapOf(this.#file) % 2 === 1 ? paddingOf(content.size) : 0;
      this.#literalBytes = this.#literalsOf(++this.#file);
      if (padding > 0) yield { kind: "literal", bytes: PADDING.subarray(0, padding) };
    }
    for (;;) {
      const bytes = this.#reader.takeSomeNow(MAX_LITERAL_BYTES);
      if (bytes.length === 0) return;
      yield { kind: "literal", bytes };
    }
  }

  /** Bytes after the last file have no length: all that comes. */
  #literalsOf(file: number): number {
    return file < this.#files.length ? Math.floor(this.#files.gapOf(file) / 2) - TAR_BLOCK_BYTES : Infinity;
  }
}
