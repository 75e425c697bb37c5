import type { Descriptor } from "../registry/registry.ts";
import { fetchRanges, type FetchRangesOptions } from "./fetch-ranges.ts";
import type { Part } from "./part.ts";
import type { PartStore } from "./part-store.ts";
import { PartsUnusable } from "./download-error.ts";
import type { RangePart } from "./range-part.ts";

export interface FillFromRangesOptions extends FetchRangesOptions {
  /** Called after bytes that do not match the digest were discarded: readers of the part must start again. */
  readonly onDropped: () => void;
}

/**
 * Downloads a blob of which ranges are on disk from an earlier attempt to fetch it by parts, without fetching these again.
 * Resolves to whether the part is complete and verified; otherwise it is to be downloaded as if there were no ranges.
 */
export async function fillFromRanges(
  part: Part,
  layer: Descriptor,
  parts: PartStore,
  options: FillFromRangesOptions,
): Promise<boolean> {
  if (part.size > 0 || !(await parts.hasRanges(layer.digest))) return part.isVerified;
  await using lease = await parts.leaseRanges(layer);
  const all = { offset: 0, length: layer.size };
  do {
    try {
      await fetchRanges(lease.part, [all], options);
    } catch (error) {
      if (error instanceof PartsUnusable) return false;
      throw error;
    }
    if (await copy(part, lease.part, options)) return true;
    // What did not fit its description is fetched again first; then all of it.
  } while (await lease.part.dropSuspects());
  await lease.part.drop(all);
  return false;
}

/** Resolves to whether the blob is complete and verified. */
async function copy(part: Part, from: RangePart, options: FillFromRangesOptions): Promise<boolean> {
  using _lock = await part.writeLock.acquire(options.signal);
  if (part.size > 0) return part.isVerified;
  for await (const bytes of from.read({ offset: 0, length: from.blob.size })) {
    options.signal.throwIfAborted();
    await part.append(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    options.onAppended();
  }
  if (part.verify()) return true;
  await part.discard();
  options.onDropped();
  return false;
}
