import {
  type BlobRange,
  type Content,
  type ContentPart,
  LayoutError,
  type LayerLayout,
  type PlacedBytes,
} from "./layer-layout.ts";
import { costOf, mergeSpans, placedIn, type RequestCost, type Span, subtractSpans, sumOfLengths } from "./ranges.ts";

/**
 * The share of a layer that may be spent on reading an index before it is known whether the index helps. With it, a download
 * that comes to nothing still costs at most 1.02 times the whole layer.
 */
export const MAX_INDEX_SHARE = 0.02;

export interface DownloadQuestion {
  readonly layout: LayerLayout;
  /** Bytes of the layer's blob. */
  readonly layerSize: number;
  /** Bytes of the pack, if there is one. */
  readonly packSize?: number;
  /** Whether the device has a content, or one part of it, by digest. */
  readonly isHeld: (part: Pick<ContentPart, "digest" | "size">) => boolean;
  /** What has been fetched before and is kept. Costs nothing. */
  readonly fetched: readonly BlobRange[];
  readonly cost: RequestCost;
}

/** How to fetch what a layer needs. `ranges` are disjoint and without what has been fetched. */
export interface DownloadChoice {
  readonly by: "parts" | "whole";
  readonly ranges: readonly BlobRange[];
  /** Bytes of the ranges. */
  readonly bytes: number;
  /** With the overhead of the requests. */
  readonly cost: number;
}

/** Whether an index beside a layer may be read: it must be small against what it can save. */
export function mayReadIndex(indexSize: number, layerSize: number, cost: RequestCost): boolean {
  return indexSize + cost.overheadBytes <= layerSize * MAX_INDEX_SHARE;
}

/**
 * Decides whether a layer is fetched by parts or whole, by what costs less on the wire: the bytes, and a fixed overhead for each
 * request. Many small holes are merged into fewer requests first, and so can cost more than the whole layer. Never costs more
 * than the whole; a tie is fetched whole, which is simpler.
 *
 * @throws {LayoutError} if the layout has parts outside of their blob
 */
export function chooseDownload(question: DownloadQuestion): DownloadChoice {
  const whole = wholeLayer(question);
  const parts = chooseParts(question);
  return parts.cost < whole.cost ? parts : whole;
}

/** What of the content has to be fetched: nothing, parts of it, or all. */
export function missingParts(content: Content, isHeld: DownloadQuestion["isHeld"]): readonly ContentPart[] {
  if (isHeld(content)) return [];
  return content.parts.filter((part) => part.compression !== "zeros" && !isHeld(part));
}

/**
 * What has to be fetched of a layer: its headers, then parts of contents in the order of their blob, each once. A part that a
 * writer has put before one that comes earlier in the tar is left out.
 */
export function* neededParts(layout: LayerLayout, isHeld: DownloadQuestion["isHeld"]): Generator<PlacedBytes> {
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

function wholeLayer({ layerSize, fetched, cost }: DownloadQuestion): DownloadChoice {
  const spans = subtractSpans([{ offset: 0, length: layerSize }], spansOf("layer", fetched));
  return choice("whole", placedIn("layer", spans), cost);
}

/**
 * The cheapest way to fetch a layer by parts, also where the whole would cost less.
 *
 * @throws {LayoutError} as `chooseDownload`
 */
export function chooseParts(question: DownloadQuestion): DownloadChoice {
  const { layout, layerSize, packSize = 0, fetched, cost } = question;
  const needed = { layer: [] as Span[], pack: [] as Span[] };
  const sizes = { layer: layerSize, pack: packSize };
  const need = ({ blob, offset, length }: BlobRange): void => {
    if (offset + length > sizes[blob]) throw new LayoutError(`a part lies outside of its ${blob} blob`);
    needed[blob].push({ offset, length });
  };
  need(layout.headers);
  for (const content of layout.contents()) {
    for (const part of missingParts(content, question.isHeld)) need(part);
  }
  const left = (blob: BlobRange["blob"]): BlobRange[] =>
    placedIn(blob, mergeSpans(subtractSpans(needed[blob], spansOf(blob, fetched)), cost));
  return choice("parts", [...left("pack"), ...left("layer")], cost);
}

function choice(by: DownloadChoice["by"], ranges: readonly BlobRange[], cost: RequestCost): DownloadChoice {
  return { by, ranges, bytes: sumOfLengths(ranges), cost: costOf(ranges, cost) };
}

function spansOf(blob: BlobRange["blob"], ranges: readonly BlobRange[]): readonly Span[] {
  return ranges.filter((range) => range.blob === blob);
}
