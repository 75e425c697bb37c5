import type { ContentDigest } from "../layer-layout.ts";

/**
 * An index beside a layer of any compression: two blobs, so that a device can decide by the small one.
 *
 * - The **index**: 8 bytes of magic, then one zstd frame, the table. Read whole, and checked by its digest in the manifest of
 *   the index.
 * - The **pack**: a zstd frame for each part of the layer's contents, in the order of the tar, repeated contents once; at its
 *   end one frame with the headers, which are the tar without contents and without the zeros that pad them. The header before a
 *   content has zeros in the fields that follow from others (`derived-fields.ts`). Read by ranges.
 *
 * The table, with numbers as varints (seven bits a byte, the lowest first):
 *
 * | what | form |
 * | --- | --- |
 * | digest of the tar (`diffId`) | 32 bytes |
 * | bytes of the tar; of the headers, unpacked and in the pack | 3 numbers |
 * | digest of the headers | 10 bytes |
 * | how many files with contents, contents, parts | 3 numbers |
 * | for each file: bytes of headers before it, times two, plus one if zeros pad it | numbers |
 * | for each file: 0 for the next content, or 1 + the index of an earlier one | numbers |
 * | for each content: how many parts, less one | numbers |
 * | for each part: bytes, unpacked | numbers |
 * | for each part: bytes in the pack, or 0 if an earlier part has the same digest | numbers |
 * | for each part: digest | 10 bytes each |
 * | for each content with several parts: digest | 10 bytes each |
 */
export const INDEX_MAGIC = Buffer.from("EDGEIDX1", "latin1");

/** Bytes of a SHA-256. */
export const DIFF_ID_BYTES = 32;

/** Smaller contents stand among the headers: a digest and a frame would take as much. */
export const MIN_CONTENT_BYTES = 64;

/** Parts of a content. With parts of at least 256 KiB, contents of 16 GiB. */
export const MAX_PARTS = 65_536;

/** A file with a content, as the table has it. */
export interface FilePlace {
  /** Bytes of headers that precede the content. */
  readonly gap: number;
  /** Index of the content. */
  readonly content: number;
  /** Whether zeros that are not among the headers follow the content, up to the next block. */
  readonly isPadded: boolean;
}

/** A part of a content, as the table has it. */
export interface PartPlace {
  readonly digest: ContentDigest;
  /** Bytes, unpacked. */
  readonly size: number;
  /** Bytes in the pack, or 0 if an earlier part has the same digest. */
  readonly length: number;
}

/** What a table says. */
export interface IndexTable {
  readonly diffId: string;
  readonly tarSize: number;
  readonly headers: { readonly size: number; readonly length: number; readonly digest: ContentDigest };
  readonly files: readonly FilePlace[];
  readonly contents: readonly { readonly digest: ContentDigest; readonly parts: readonly PartPlace[] }[];
}
