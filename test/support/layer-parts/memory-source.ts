import { contentDigest } from "../../../src/lib/layer-parts/content-digest.ts";
import type { ContentDigest, PlacedBytes } from "../../../src/lib/layer-parts/layer-layout.ts";
import type { PartSource } from "../../../src/lib/layer-parts/rebuild.ts";
import { inPieces } from "./tars.ts";

/** A device's contents and a registry's blobs, in memory. */
export class MemorySource implements PartSource {
  /** What was fetched, in order. */
  readonly places: PlacedBytes[] = [];
  readonly #blobs: Readonly<Record<PlacedBytes["blob"], Uint8Array>>;
  readonly #held = new Map<ContentDigest, Uint8Array>();

  constructor(blobs: { readonly layer?: Uint8Array; readonly pack?: Uint8Array }) {
    this.#blobs = { layer: new Uint8Array(), pack: new Uint8Array(), ...blobs };
  }

  /** Bytes fetched, with what was fetched twice. */
  get fetchedBytes(): number {
    return this.places.reduce((sum, { length }) => sum + length, 0);
  }

  hold(content: Uint8Array, digest: ContentDigest = contentDigest(content)): void {
    this.#held.set(digest, content);
  }

  isHeld = ({ digest }: { readonly digest: ContentDigest }): boolean => this.#held.has(digest);

  held({ digest }: { readonly digest: ContentDigest }): AsyncIterable<Uint8Array> | undefined {
    const content = this.#held.get(digest);
    return content === undefined ? undefined : inPieces(content, [1000]);
  }

  fetched(place: PlacedBytes): AsyncIterable<Uint8Array> {
    this.places.push(place);
    return inPieces(this.#blobs[place.blob].subarray(place.offset, place.offset + place.length), [700]);
  }
}
