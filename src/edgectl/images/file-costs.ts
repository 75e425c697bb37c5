import { missingParts } from "../../lib/layer-parts/decide.ts";
import type { LayerLayout } from "../../lib/layer-parts/layer-layout.ts";
import type { TarFile } from "./tar-files.ts";

/** A file whose content is not on the device. */
export interface FileCost {
  readonly path: string;
  /** Bytes of the file. */
  readonly size_bytes: number;
  /** Bytes of it on the wire by parts; `null` where the layer cannot be fetched so. */
  readonly parts_bytes: number | null;
}

/**
 * Returns the files whose contents a device fetches, the largest first. A content that several files have counts for the first.
 *
 * @param layout `undefined` if the layer has none
 * @param held digests of the contents that the device has
 */
export function costOfFiles(
  files: readonly TarFile[],
  layout: LayerLayout | undefined,
  held: ReadonlySet<string>,
): readonly FileCost[] {
  const isHeld = ({ digest }: { readonly digest: string }): boolean => held.has(digest);
  const costs = new Map<string, number>();
  const seen = new Set<string>();
  for (const content of layout?.contents() ?? []) {
    if (costs.has(content.digest)) continue;
    let bytes = 0;
    for (const { digest, length } of missingParts(content, isHeld)) {
      if (seen.has(digest)) continue;
      seen.add(digest);
      bytes += length;
    }
    costs.set(content.digest, bytes);
  }
  const listed = new Set<string>();
  const missing: FileCost[] = [];
  for (const { path, size, content } of files) {
    if (held.has(content) || listed.has(content)) continue;
    listed.add(content);
    // Contents of a few bytes stand among the headers.
    missing.push({ path, size_bytes: size, parts_bytes: layout ? (costs.get(content) ?? 0) : null });
  }
  const rank = (file: FileCost): number => file.parts_bytes ?? file.size_bytes;
  return missing.toSorted((one, other) => rank(other) - rank(one));
}
