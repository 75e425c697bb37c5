import { createHash } from "node:crypto";
import { LayoutError } from "../layer-layout.ts";
import { LAYOUT_LIMITS, type LayoutLimits } from "../limits.ts";
import { ContentPacker, type WritePack } from "./content-packer.ts";
import { blankDerived } from "./derived-fields.ts";
import { encodeTable } from "./encode-table.ts";
import { type FilePlace, MIN_CONTENT_BYTES } from "./format.ts";
import { HeaderPacker } from "./header-packer.ts";
import { TarPieces } from "./tar-pieces.ts";

/** An index that has been written. Its pack went to `writePack`. */
export interface LayerIndex {
  readonly index: Uint8Array;
  readonly packSize: number;
  /** Bytes of the tar. */
  readonly tarSize: number;
}

/**
 * Writes the index of a layer and its pack.
 *
 * @param tar the layer, uncompressed
 * @param diffId `sha256:…` of it, from the image's configuration
 * @param writePack receives the pack in its order
 * @throws {LayoutError} if the tar has another digest, is malformed, or exceeds what readers accept
 */
export async function writeLayerIndex(
  tar: AsyncIterable<Uint8Array>,
  diffId: string,
  writePack: WritePack,
  limits: LayoutLimits = LAYOUT_LIMITS,
): Promise<LayerIndex> {
  const writer = new IndexWriter(writePack, limits);
  const hash = createHash("sha256");
  let tarSize = 0;
  for await (const chunk of tar) {
    hash.update(chunk);
    tarSize += chunk.length;
    await writer.add(chunk);
  }
  const actual = `sha256:${hash.digest("hex")}`;
  if (actual !== diffId) throw new LayoutError(`the layer has the digest ${actual} instead of ${diffId}`);
  return { ...(await writer.end(diffId, tarSize)), tarSize };
}

class IndexWriter {
  readonly #pieces = new TarPieces();
  readonly #headers: HeaderPacker;
  readonly #contents: ContentPacker;
  readonly #writePack: WritePack;
  readonly #files: FilePlace[] = [];
  /** Bytes of headers since the last content. */
  #gap = 0;
  /** The last bytes of headers: if a content follows, its header. */
  #last: Uint8Array = new Uint8Array();
  /** A content, and not one that is kept among the headers. */
  #isContent = false;

  constructor(writePack: WritePack, limits: LayoutLimits) {
    this.#writePack = writePack;
    this.#headers = new HeaderPacker(limits.maxUnpackedBytes);
    this.#contents = new ContentPacker(writePack, limits.maxEntries);
  }

  async add(chunk: Uint8Array): Promise<void> {
    for (const piece of this.#pieces.read(chunk)) {
      if (piece.kind === "file") this.#begin(piece.size);
      else if (piece.kind === "literal" || !this.#isContent) await this.#literal(piece.bytes);
      else if (piece.kind === "content") await this.#contents.add(piece.bytes);
      else await this.#end(piece.bytes);
    }
  }

  async end(diffId: string, tarSize: number): Promise<Omit<LayerIndex, "tarSize">> {
    this.#pieces.end();
    await this.#headers.add(this.#last);
    const { packed, headers } = await this.#headers.end();
    await this.#writePack(packed);
    const { contents, packSize } = this.#contents;
    const index = encodeTable({ diffId, tarSize, headers, files: this.#files, contents });
    return { index, packSize: packSize + packed.length };
  }

  #begin(size: number): void {
    this.#isContent = size >= MIN_CONTENT_BYTES;
    if (!this.#isContent) return;
    this.#last = blankDerived(this.#last, size);
    this.#contents.begin(size);
  }

  async #end(padding: Uint8Array): Promise<void> {
    this.#isContent = false;
    const isPadded = padding.every((byte) => byte === 0);
    this.#files.push({ gap: this.#gap, content: await this.#contents.end(), isPadded });
    this.#gap = 0;
    if (!isPadded) await this.#literal(padding);
  }

  async #literal(bytes: Uint8Array): Promise<void> {
    this.#gap += bytes.length;
    await this.#headers.add(this.#last);
    this.#last = bytes;
  }
}
