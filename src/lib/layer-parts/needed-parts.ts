import { missingParts } from "./decide.ts";
import type { ContentPart, LayerLayout, PlacedBytes } from "./layer-layout.ts";

/**
 * What has to be fetched of a layer: its headers, then parts of contents in the order of their blob, each once. A part that a
 * writer has put before one that comes earlier in the tar is left out.
 */
export function* neededParts(
  layout: LayerLayout,
  isHeld: (part: Pick<ContentPart, "digest" | "size">) => boolean,
): Generator<PlacedBytes> {
  yield layout.headers;
  let end = 0;
  for (const content of layout.contents()) {
    for (const part of missingParts(content, isHeld)) {
      if (part.offset < end) continue;
      end = part.offset + part.length;
      yield part;
    }
  }
}
