import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { constants, createGunzip, createZstdDecompress } from "node:zlib";
import { digestOfHash } from "./content-digest.ts";
import { LayoutError, type PlacedBytes } from "./layer-layout.ts";
import { MAX_ZSTD_WINDOW_LOG } from "./limits.ts";

const READ_BYTES = 64 * 1024;
const ZEROS = new Uint8Array(READ_BYTES);

/**
 * Unpacks what is at a place in a blob. Ends with an error instead of its last bytes when the size or the digest is
 * another one, and stops as soon as there is more than the size.
 *
 * @param packed the bytes as they are in the blob; not read for zeros
 * @throws {LayoutError}
 */
export async function* unpack(place: PlacedBytes, packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (place.compression === "zeros") return yield* zeros(place.size);
  const hash = createHash("sha256");
  let size = 0;
  let last: Uint8Array | undefined;
  for await (const chunk of decompress(place.compression, packed)) {
    size += chunk.length;
    if (size > place.size) throw new LayoutError(`a part unpacks to more than the ${place.size} bytes it should have`);
    hash.update(chunk);
    if (last !== undefined) yield last;
    last = chunk;
  }
  if (size < place.size) throw new LayoutError(`a part unpacks to ${size} bytes and should have ${place.size}`);
  if (digestOfHash(hash) !== place.digest) throw new LayoutError("a part does not have its digest");
  if (last !== undefined) yield last;
}

/** @throws {LayoutError} if the bytes are damaged or need too large a window */
export async function* decompress(
  compression: Exclude<PlacedBytes["compression"], "zeros">,
  packed: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  if (compression === "none") return yield* packed;
  const unpacker =
    compression === "gzip"
      ? createGunzip({ chunkSize: READ_BYTES })
      : createZstdDecompress({
          chunkSize: READ_BYTES,
          params: { [constants.ZSTD_d_windowLogMax]: MAX_ZSTD_WINDOW_LOG },
        });
  const source = Readable.from(packed, { objectMode: false });
  let failure: unknown;
  source.once("error", (error) => {
    failure = error;
    unpacker.destroy(error);
  });
  source.pipe(unpacker);
  try {
    yield* unpacker as AsyncIterable<Buffer>;
  } catch (error) {
    if (failure !== undefined) throw failure;
    throw new LayoutError(`a part cannot be unpacked (${compression})`, { cause: error });
  } finally {
    source.destroy();
    unpacker.destroy();
  }
}

export function* zeros(size: number): Generator<Uint8Array> {
  for (let rest = size; rest > 0; rest -= READ_BYTES) yield ZEROS.subarray(0, Math.min(rest, READ_BYTES));
}
