/**
 * How the uncompressed tar of a layer is put together from parts, whatever describes it: the table of contents of a
 * zstd:chunked blob, or an index beside an ordinary image. Digests decide what a part is; no file is known by its name.
 */
export interface LayerLayout {
  /** `sha256:` and the digest of the whole tar, from the image's configuration. */
  readonly diffId: string;
  /** Bytes of the tar. */
  readonly size: number;
  /** Headers and padding of the tar, in the form that `segments` reads. Never on the device: always fetched. */
  readonly headers: PlacedBytes;
  /** What reading the description took: entries, as `LayoutLimits` counts them, and bytes of its tables, unpacked. */
  readonly described: { readonly entries: number; readonly unpackedBytes: number };
  /** What the tar's files contain, in the order of the tar, repeated contents each time. May be called often. */
  contents(): Iterable<Content>;
  /**
   * The tar in its order, in batches: those of which the headers are at hand. What a segment has is good until the next
   * one is asked for.
   *
   * @param headers the bytes of `headers` as they are in the blob; checked while they are read
   * @throws {LayoutError} if they are not what the layout says
   */
  segments(headers: AsyncIterable<Uint8Array>): AsyncIterable<Iterable<Segment>>;
}

export type Segment = LiteralSegment | ContentSegment;

/** Headers and padding. */
export interface LiteralSegment {
  readonly kind: "literal";
  readonly bytes: Uint8Array;
}

export interface ContentSegment extends Content {
  readonly kind: "content";
}

/** What a file contains. Never empty. */
export interface Content {
  readonly digest: ContentDigest;
  /** Bytes, uncompressed: those of all parts. */
  readonly size: number;
  /** At least one, in the order of the file. A single part has the digest of the content. */
  readonly parts: readonly ContentPart[];
}

/**
 * The first 10 bytes of a SHA-256, as 20 lower-case hexadecimal digits (`content-digest.ts`). That is enough to find contents;
 * the whole digest of the tar (`diffId`) is what proves the result.
 */
export type ContentDigest = string;

/** Where bytes are in a blob of the registry. */
export interface PlacedBytes {
  readonly digest: ContentDigest;
  /** Bytes, uncompressed. */
  readonly size: number;
  /** The layer's own blob, or the pack beside an index. */
  readonly blob: BlobName;
  readonly offset: number;
  /** Bytes in the blob. 0 for zeros. */
  readonly length: number;
  /** `zeros` is nowhere in a blob: `size` bytes of zero. */
  readonly compression: "zstd" | "gzip" | "none" | "zeros";
}

export type BlobName = "layer" | "pack";

/** A part of a file, of its own in the blob. Its digest is that of the uncompressed bytes. */
export type ContentPart = PlacedBytes;

/** Bytes of a blob that are requested together. */
export interface BlobRange {
  readonly blob: BlobName;
  readonly offset: number;
  /** Bytes, at least 1. */
  readonly length: number;
}

/** A description of a layer that cannot be used: it lies, is damaged, or exceeds a bound. The layer is downloaded whole. */
export class LayoutError extends Error {
  override readonly name = "LayoutError";
}
