import { decompress } from "../../lib/layer-parts/unpack.ts";

const GZIP_MAGIC = [0x1f, 0x8b];
const ZSTD_MAGIC = [0x28, 0xb5, 0x2f, 0xfd];
/** Skippable frames, as zstd:chunked has: 0x184D2A50 to 0x184D2A5F. */
const ZSTD_SKIPPABLE_MAGIC = [0x2a, 0x4d, 0x18];

/**
 * Decompresses a layer's blob. Its first bytes say how, since media types are often wrong.
 *
 * @throws {LayoutError} if it is damaged; an error of `blob` is passed on
 */
export async function* layerTar(blob: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const iterator = blob[Symbol.asyncIterator]();
  const head: Uint8Array[] = [];
  let length = 0;
  while (length < ZSTD_MAGIC.length) {
    const { value, done } = await iterator.next();
    if (done) break;
    head.push(value);
    length += value.length;
  }
  const first = Buffer.concat(head);
  yield* decompress(compressionOf(first), chain(first, iterator));
}

function compressionOf(first: Buffer): "gzip" | "zstd" | "none" {
  const has = (magic: readonly number[], at: number = 0): boolean =>
    magic.every((byte, index) => first[at + index] === byte);
  if (has(GZIP_MAGIC)) return "gzip";
  return has(ZSTD_MAGIC) || has(ZSTD_SKIPPABLE_MAGIC, 1) ? "zstd" : "none";
}

async function* chain(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
