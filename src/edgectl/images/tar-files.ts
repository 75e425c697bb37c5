import { decompress } from "../../lib/layer-parts/unpack.ts";
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { extract } from "tar-stream";
import { boundHeaders } from "../../lib/bounded-tar-headers.ts";
import { digestOfHash } from "../../lib/layer-parts/content-digest.ts";
import { LayoutError } from "../../lib/layer-parts/layer-layout.ts";
import { EXIT, Failure } from "../failure.ts";

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

/** A regular file of a layer that has a content. */
export interface TarFile {
  /** As in the tar, without a leading `./` or `/`. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Digest of the content. */
  readonly content: string;
}

/** Entries of a layer; more are an error. */
const MAX_ENTRIES = 1_000_000;

/** Lists the files of a layer's tar that are not empty, in its order. Errors: exit code 1 if it is none. */
export async function readTarFiles(tar: AsyncIterable<Uint8Array>): Promise<readonly TarFile[]> {
  const files: TarFile[] = [];
  const source = Readable.from(tar, { objectMode: false });
  const entries = boundHeaders(extract());
  let failure: unknown;
  source.once("error", (error) => {
    failure = error;
    entries.destroy(error);
  });
  source.pipe(entries);
  try {
    for await (const entry of entries) {
      const { name, size, type } = entry.header;
      if ((type !== "file" && type !== "contiguous-file") || size === 0) {
        entry.resume();
        continue;
      }
      if (files.length >= MAX_ENTRIES) throw new LayoutError(`it has more than ${MAX_ENTRIES} files`);
      const hash = createHash("sha256");
      for await (const chunk of entry) hash.update(chunk as Uint8Array);
      files.push({ path: name.replace(/^(?:\.?\/)+/, ""), size, content: digestOfHash(hash) });
    }
    return files;
  } catch (error) {
    const cause = failure ?? error;
    if (cause instanceof Failure) throw cause;
    const reason = cause instanceof Error ? cause.message : "error";
    throw new Failure(`A layer cannot be read: ${reason}.`, { exitCode: EXIT.failed, cause });
  } finally {
    source.destroy();
    entries.destroy();
  }
}
