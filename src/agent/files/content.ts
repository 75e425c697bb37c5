import { createHash } from "node:crypto";

/** The content of a file of an app, in memory or on disk. */
export interface Content {
  /** Bytes. */
  readonly size: number;
  /**
   * Whether it was fetched: it lies on disk beside the store, so that the place of an app need not keep the archive of a directory.
   */
  readonly isFetched: boolean;
  /** Reads it chunk by chunk. Throws the errors of the file system, and a `DamagedContentError`. */
  read(): AsyncIterable<Uint8Array>;
}

/** A content on disk is not the one that was fetched. */
export class DamagedContentError extends Error {
  override readonly name = "DamagedContentError";
}

export function contentInMemory(bytes: Uint8Array): Content {
  return {
    size: bytes.length,
    isFetched: false,
    async *read() {
      yield bytes;
    },
  };
}

/** Reads all of a content. It has to be one that may be in memory as a whole. */
export async function readWhole(content: Content): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of content.read()) chunks.push(chunk);
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}

/** Passes chunks on. Error: `DamagedContentError` at a byte too many, or at the end for another content. */
export async function* verified(
  chunks: AsyncIterable<Uint8Array>,
  { sha256, size }: { readonly sha256: string; readonly size: number },
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > size) throw new DamagedContentError("has too many bytes");
    hash.update(chunk);
    yield chunk;
  }
  if (bytes < size || hash.digest("hex") !== sha256) throw new DamagedContentError("is another one");
}
