import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { constants, createGunzip, createZstdDecompress, gunzipSync, zstdDecompressSync } from "node:zlib";
import { ByteReader } from "./byte-reader.ts";
import { contentDigest, digestOfHash } from "./content-digest.ts";
import { LayoutError, type PlacedBytes } from "./layer-layout.ts";
import { MAX_ZSTD_WINDOW_LOG } from "./limits.ts";

const READ_BYTES = 64 * 1024;
const MIN_CHUNK_BYTES = 64;
const PARAMS = { [constants.ZSTD_d_windowLogMax]: MAX_ZSTD_WINDOW_LOG };
const ZEROS = new Uint8Array(READ_BYTES);

/** Up to this size, packed and unpacked, bytes are unpacked at once: a stream for each small part takes ten times as long. */
export const MAX_AT_ONCE_BYTES = 4 * 1024 * 1024;

/**
 * Unpacks what is at a place in a blob. Ends with an error instead of its last bytes when the size or the digest is
 * another one, and stops as soon as there is more than the size. Up to `MAX_AT_ONCE_BYTES` come at once.
 *
 * @param packed the bytes as they are in the blob; not read for zeros
 * @throws {LayoutError}
 */
export async function* unpack(place: PlacedBytes, packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  if (place.compression === "zeros") return yield* zeros(place.size);
  if (Math.max(place.size, place.length) <= MAX_AT_ONCE_BYTES) return yield await unpackAtOnce(place, packed);
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

async function unpackAtOnce(place: PlacedBytes, packed: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  await using reader = new ByteReader(packed);
  const whole = await reader.take(place.length);
  if (whole === undefined) throw new LayoutError("a part is cut off");
  const bytes = place.compression === "none" ? whole : decompressAtOnce(place, whole);
  if (bytes.length < place.size)
    throw new LayoutError(`a part unpacks to ${bytes.length} bytes and should have ${place.size}`);
  if (contentDigest(bytes) !== place.digest) throw new LayoutError("a part does not have its digest");
  return bytes;
}

function decompressAtOnce({ compression, size }: PlacedBytes, packed: Uint8Array): Uint8Array {
  // A byte more than needed tells a part that is too large, without a second piece of memory.
  const options = { maxOutputLength: size + 1, chunkSize: Math.max(MIN_CHUNK_BYTES, size + 1) };
  let bytes: Uint8Array | undefined;
  try {
    bytes =
      compression === "gzip" ? gunzipSync(packed, options) : zstdDecompressSync(packed, { ...options, params: PARAMS });
  } catch (error) {
    if (errorCode(error) !== "ERR_BUFFER_TOO_LARGE") throw damaged(compression, error);
  }
  if (bytes !== undefined && bytes.length <= size) return bytes;
  throw new LayoutError(`a part unpacks to more than the ${size} bytes it should have`);
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
      : createZstdDecompress({ chunkSize: READ_BYTES, params: PARAMS });
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
    throw damaged(compression, error);
  } finally {
    source.destroy();
    unpacker.destroy();
  }
}

export function* zeros(size: number): Generator<Uint8Array> {
  for (let rest = size; rest > 0; rest -= READ_BYTES) yield ZEROS.subarray(0, Math.min(rest, READ_BYTES));
}

function damaged(compression: string, cause: unknown): LayoutError {
  return new LayoutError(`a part cannot be unpacked (${compression})`, { cause });
}

function errorCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
