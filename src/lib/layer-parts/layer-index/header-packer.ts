import { createHash } from "node:crypto";
import { once } from "node:events";
import { constants, createZstdCompress } from "node:zlib";
import { digestOfHash } from "../content-digest.ts";
import { LayoutError } from "../layer-layout.ts";
import type { IndexTable } from "./format.ts";

const LEVEL = 19;
/** A device that unpacks headers holds a window of this size, 1 MiB. A larger one makes no difference: neighbours are alike. */
const WINDOW_LOG = 20;

/** Packs the headers of a tar as they come. */
export class HeaderPacker {
  readonly #maxBytes: number;
  readonly #hash = createHash("sha256");
  readonly #packer = createZstdCompress({
    params: { [constants.ZSTD_c_compressionLevel]: LEVEL, [constants.ZSTD_c_windowLog]: WINDOW_LOG },
  });
  readonly #packed: Buffer[] = [];
  #size = 0;

  /** @param maxBytes that a reader accepts */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#packer.on("data", (chunk: Buffer) => this.#packed.push(chunk));
  }

  /** @throws {LayoutError} if there are too many */
  async add(bytes: Uint8Array): Promise<void> {
    this.#size += bytes.length;
    if (this.#size > this.#maxBytes)
      throw new LayoutError(`the layer has more than ${this.#maxBytes} bytes of headers`);
    this.#hash.update(bytes);
    if (bytes.length > 0 && !this.#packer.write(bytes)) await once(this.#packer, "drain");
  }

  async end(): Promise<{ readonly packed: Buffer; readonly headers: IndexTable["headers"] }> {
    const isEnded = once(this.#packer, "end");
    this.#packer.end();
    await isEnded;
    const packed = Buffer.concat(this.#packed);
    return { packed, headers: { size: this.#size, length: packed.length, digest: digestOfHash(this.#hash) } };
  }
}
