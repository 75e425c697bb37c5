import { errorText } from "../../../lib/error-text.ts";
import { type BlobName, LayoutError, type PlacedBytes } from "../../../lib/layer-parts/layer-layout.ts";
import { neededParts } from "../../../lib/layer-parts/decide.ts";
import type { Span } from "../../../lib/layer-parts/ranges.ts";
import { unpack } from "../../../lib/layer-parts/unpack.ts";
import { PartsUnusable } from "../download-error.ts";
import type { RangePart } from "../range-part.ts";
import type { LayerPlan, PlannedBlob } from "./layer-plan.ts";

/** Fetches what is missing of the spans. @param check called after each write; its error ends the fetch */
export type FetchSpans = (blob: PlannedBlob, spans: readonly Span[], check?: () => Promise<void>) => Promise<void>;

/**
 * Fetches what is planned of a layer, and checks each part as soon as it is there: what comes after the first wrong one would be
 * paid for in vain. A wrong part is fetched again within the plan's bounds. Rejects with `PartsUnusable` where that does not
 * help, otherwise as `fetch`.
 */
export async function fetchPlanned(plan: LayerPlan, fetch: FetchSpans): Promise<void> {
  for (const blob of plan.blobs) {
    // One for all attempts: parts that came behind a wrong one have not been checked yet.
    const check = new FetchedCheck(plan, blob);
    while (!(await fetchOnce(plan, blob, fetch, check)));
  }
}

/** Whether what is on disk of a part is what it should be. */
export async function isIntact(part: RangePart, place: PlacedBytes): Promise<boolean> {
  return part.has(place) && (await reasonAgainst(part, place)) === undefined;
}

/**
 * Discards a wrong part, so that it is fetched again. Rejects with `PartsUnusable` if that would be once too often: then it stays,
 * since the layer's own blob may be right, and what describes it wrong.
 */
export async function discardWrong(plan: LayerPlan, place: PlacedBytes, reason: string): Promise<void> {
  const { part } = plan.blob(place.blob);
  if (plan.repeats.take(place)) return await part.drop(place);
  part.suspect(place);
  throw new PartsUnusable(reason);
}

/** Resolves to `false` after a wrong part was discarded. */
async function fetchOnce(plan: LayerPlan, blob: PlannedBlob, fetch: FetchSpans, check: FetchedCheck): Promise<boolean> {
  const { headers } = plan.layout;
  const run = (): Promise<void> => check.run();
  try {
    // The headers are always fetched, and without them all else is of no use. At the end of the blob, they would be checked last.
    if (headers.blob === blob.name) await fetch(blob, [headers], run);
    await fetch(blob, plan.spansOf(blob.name), run);
    return true;
  } catch (error) {
    if (!(error instanceof WrongPart)) throw error;
    await discardWrong(plan, error.place, error.message);
    return false;
  }
}

/** Bytes of a registry that are not what the description of the layer says. */
class WrongPart extends Error {
  readonly place: PlacedBytes;

  constructor(place: PlacedBytes, message: string) {
    super(message);
    this.place = place;
  }
}

/** Checks the parts that are fetched, one after the other. What was there before was checked when it came. */
class FetchedCheck {
  readonly #part: RangePart;
  readonly #parts: Iterator<PlacedBytes>;
  readonly #fresh: readonly Span[];
  #next: PlacedBytes | undefined;

  constructor(plan: LayerPlan, { name, part }: PlannedBlob) {
    this.#part = part;
    this.#fresh = part.missing(plan.spansOf(name));
    this.#parts = this.#freshParts(plan, name);
    this.#advance();
  }

  async run(): Promise<void> {
    for (let place = this.#next; place && this.#part.has(place); place = this.#next) {
      const reason = await reasonAgainst(this.#part, place);
      if (reason !== undefined) throw new WrongPart(place, reason);
      this.#advance();
    }
  }

  *#freshParts({ layout, held }: LayerPlan, name: BlobName): Generator<PlacedBytes> {
    for (const place of neededParts(layout, (wanted) => held.has(wanted))) {
      if (place.blob === name && this.#isFresh(place)) yield place;
    }
  }

  #advance(): void {
    const { done, value } = this.#parts.next();
    this.#next = done === true ? undefined : value;
  }

  #isFresh(place: Span): boolean {
    let [low, high] = [0, this.#fresh.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const { offset, length } = this.#fresh[middle] as Span;
      if (offset + length > place.offset) high = middle;
      else low = middle + 1;
    }
    const first = this.#fresh[low];
    return first !== undefined && doOverlap(first, place);
  }
}

async function reasonAgainst(part: RangePart, place: PlacedBytes): Promise<string | undefined> {
  try {
    for await (const _ of unpack(place, part.read(place)));
    return undefined;
  } catch (error) {
    if (error instanceof LayoutError) return errorText(error);
    throw error;
  }
}

function doOverlap(one: Span, other: Span): boolean {
  return one.offset < other.offset + other.length && other.offset < one.offset + one.length;
}
