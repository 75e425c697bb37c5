import { LayoutError } from "./layer-layout.ts";

const MIB = 1024 * 1024;

/** What a description of a layer may demand. Checked before memory is taken for it. */
export interface LayoutLimits {
  /**
   * Entries of a table of contents; for an index, files, contents and parts counted together, so that a layer may have a third
   * as many files. Each takes up to 100 bytes of memory while the layer is planned.
   */
  readonly maxEntries: number;
  /** Bytes of a table of contents or of headers, unpacked. They are read as a stream. */
  readonly maxUnpackedBytes: number;
  /** Bytes of an index's table, unpacked. It is held in memory. */
  readonly maxTableBytes: number;
  /** Bytes of all of these in their blobs. */
  readonly maxPackedBytes: number;
}

export const LAYOUT_LIMITS: LayoutLimits = {
  maxEntries: 300_000,
  maxUnpackedBytes: 64 * MIB,
  maxTableBytes: 8 * MIB,
  maxPackedBytes: 16 * MIB,
};

/**
 * What the descriptions of all layers of one image may demand together, in memory and work. They are planned one after the other
 * and kept until the image is there.
 */
export const IMAGE_LAYOUT_LIMITS = { maxEntries: 600_000, maxUnpackedBytes: 256 * MIB } as const;

/** Bytes of a layer's tar. A larger one is not described. */
export const MAX_TAR_BYTES = 1024 * 1024 * MIB;

/**
 * Base-2 logarithm of the window that a zstd frame may ask for: 32 MiB, the largest that writers of zstd:chunked use. The
 * decoder only touches as much of it as the frame has bytes.
 */
export const MAX_ZSTD_WINDOW_LOG = 25;

/** @throws {LayoutError} unless the value is a whole number from `min` to `max` */
export function requireInteger(value: unknown, what: string, min: number, max: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new LayoutError(`${what} is not a whole number from ${min} to ${max}`);
}
