import { ByteReader } from "../../lib/layer-parts/byte-reader.ts";
import { paddingOf, paxSize, readTarHeader, TAR_BLOCK_BYTES } from "../../lib/layer-parts/layer-index/tar-header.ts";

/** Extended headers of files in images are shorter. */
const MAX_PAX_BYTES = 1024 * 1024;
const PIECE_BYTES = 64 * 1024;

/** A regular file with content of an exported image. Its content can be read until the next file is taken. */
export interface ExportedFile {
  /** 0 for the first. */
  readonly number: number;
  readonly size: number;
  /** Resolves to all of it. For files that fit into memory. */
  readonly whole: () => Promise<Uint8Array>;
  /** Yields it in pieces. */
  readonly pieces: () => AsyncGenerator<Uint8Array>;
}

/**
 * Yields the files with content of an archive, in its order. Leaving the loop ends the archive. Their number and order are those
 * of the engine's export; what a header says is not checked, since every content is known by its digest.
 */
export async function* exportedFiles(archive: AsyncIterable<Uint8Array>): AsyncGenerator<ExportedFile> {
  await using reader = new ByteReader(archive);
  let number = 0;
  let nextSize: number | undefined;
  for (;;) {
    const block = await reader.take(TAR_BLOCK_BYTES);
    const header = block && readTarHeader(asBuffer(block));
    if (!header) return;
    if (header.kind === "pax" && header.size <= MAX_PAX_BYTES) {
      nextSize = paxSize(asBuffer(await take(reader, header.size)));
      await skip(reader, paddingOf(header.size));
      continue;
    }
    const size = header.kind === "file" ? (nextSize ?? header.size) : header.size;
    if (header.kind !== "metadata") nextSize = undefined;
    if (header.kind !== "file" || size === 0) {
      await skip(reader, size + paddingOf(size));
      continue;
    }
    const content = new FileContent(reader, size);
    yield { number: number++, size, whole: () => content.whole(), pieces: () => content.pieces() };
    await skip(reader, content.left + paddingOf(size));
  }
}

class FileContent {
  /** Bytes that were not read. */
  left: number;
  readonly #reader: ByteReader;

  constructor(reader: ByteReader, size: number) {
    this.#reader = reader;
    this.left = size;
  }

  async whole(): Promise<Uint8Array> {
    const bytes = await take(this.#reader, this.left);
    this.left = 0;
    return bytes;
  }

  async *pieces(): AsyncGenerator<Uint8Array> {
    while (this.left > 0) {
      const piece = await this.#reader.takeSome(Math.min(this.left, PIECE_BYTES));
      if (!piece) throw cutOff();
      this.left -= piece.length;
      yield piece;
    }
  }
}

async function take(reader: ByteReader, size: number): Promise<Uint8Array> {
  const bytes = await reader.take(size);
  if (!bytes) throw cutOff();
  return bytes;
}

async function skip(reader: ByteReader, size: number): Promise<void> {
  if (size > 0 && !(await reader.skip(size))) throw cutOff();
}

function asBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

function cutOff(): Error {
  return new Error("the engine sent an archive that is cut off");
}
