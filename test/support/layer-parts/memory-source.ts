import { contentDigest } from "../../../src/lib/layer-parts/content-digest.ts";
import type { ContentDigest, PlacedBytes } from "../../../src/lib/layer-parts/layer-layout.ts";
import type { PartSource } from "../../../src/lib/layer-parts/part-source.ts";
import { inPieces } from "./tars.ts";

/** A device's contents and a registry's blobs, in memory. */
export class MemorySource implements PartSource {
  /** What was fetched, in order. */
  readonly places: PlacedBytes[] = [];
  readonly #blobs: Readonly<Record<PlacedBytes["blob"], Uint8Array>>;
  readonly #held = new Map<ContentDigest, Uint8Array>();
  /** Memory that is used again for each content, as the agent does. */
  #shared = Buffer.alloc(0);
  #reads = 0;

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

  /** By turns at once, after a while, and not: a source need not offer it. */
  heldWhole({ digest }: { readonly digest: ContentDigest }): Uint8Array | Promise<Uint8Array> | undefined {
    const content = this.#held.get(digest);
    if (content === undefined || this.#reads++ % 3 === 0) return undefined;
    if (this.#shared.length < content.length) this.#shared = Buffer.alloc(content.length);
    const whole = this.#shared.subarray(0, content.length);
    whole.set(content);
    return this.#reads % 3 === 1 ? whole : Promise.resolve(whole);
  }

  fetched(place: PlacedBytes): AsyncIterable<Uint8Array> {
    this.places.push(place);
    return inPieces(this.#blobs[place.blob].subarray(place.offset, place.offset + place.length), [700]);
  }
}
