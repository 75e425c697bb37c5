import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { type FileUpload, MAX_UPLOAD_BYTES } from "../../protocol/apps/uploads.ts";
import { EXIT, Failure } from "../failure.ts";

/** An upload. Its bytes are made as they are read, if they are too many for the memory. */
export interface UploadSource {
  readonly bytes: number;
  read(): Iterable<Uint8Array>;
}

export function sourceOf(packed: Buffer): UploadSource {
  return { bytes: packed.length, read: () => [packed] };
}

/** A content that is packed part by part, each as gzip of its own: a reader takes several as one. */
const PART_BYTES = 4 * 1024 * 1024;

/** Better ones take seconds more for each 100 MB, and save a few percent. */
const LEVEL = 6;

export interface PackedContent {
  /** Of the content, hex. */
  readonly sha256: string;
  readonly upload: FileUpload;
  readonly source: UploadSource;
}

/**
 * Packs a content once to know its hashes and sizes; once more when it is sent, so that it is never in memory or on disk as a whole.
 * The source throws a `Failure` before the first byte that is another one than before. Returns `undefined` if it has more bytes than
 * an upload may.
 *
 * @param read reads the content from its beginning
 */
export function packContent(
  read: () => Iterable<Uint8Array>,
  maxBytes: number = MAX_UPLOAD_BYTES,
): PackedContent | undefined {
  const [content, packed] = [createHash("sha256"), createHash("sha256")];
  const parts: string[] = [];
  let [size, bytes] = [0, 0];
  for (const part of partsOf(read())) {
    const packedPart = gzipSync(part, { level: LEVEL });
    content.update(part);
    packed.update(packedPart);
    parts.push(hashOf(packedPart));
    size += part.length;
    bytes += packedPart.length;
    if (bytes > maxBytes) return undefined;
  }
  const source = { bytes, read: () => packedAgain(read, parts) };
  return { sha256: content.digest("hex"), upload: { sha256: packed.digest("hex"), bytes, size }, source };
}

/** @param parts hashes of the parts, packed */
function* packedAgain(read: () => Iterable<Uint8Array>, parts: readonly string[]): Generator<Uint8Array> {
  let index = 0;
  for (const part of partsOf(read())) {
    const packed = gzipSync(part, { level: LEVEL });
    if (hashOf(packed) !== parts[index++]) throw changedFailure();
    yield packed;
  }
  if (index < parts.length) throw changedFailure();
}

function changedFailure(): Failure {
  return new Failure("Files that come with the apps were changed while they were sent.", {
    exitCode: EXIT.failed,
    hint: "Run the command again.",
  });
}

/** An empty content has one part. */
function* partsOf(chunks: Iterable<Uint8Array>): Generator<Buffer> {
  // Read into again: each part is packed before the next one is asked for.
  const part = Buffer.allocUnsafe(PART_BYTES);
  let length = 0;
  let isFirst = true;
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      const piece = chunk.subarray(at, at + PART_BYTES - length);
      part.set(piece, length);
      at += piece.length;
      length += piece.length;
      if (length < PART_BYTES) continue;
      yield part;
      [length, isFirst] = [0, false];
    }
  }
  if (length > 0 || isFirst) yield part.subarray(0, length);
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
