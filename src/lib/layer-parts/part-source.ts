import type { ContentPart, PlacedBytes } from "./layer-layout.ts";

type Held = Pick<ContentPart, "digest" | "size">;

/** Where the bytes of a layer come from. What it returns is not trusted: every part is checked. */
export interface PartSource {
  /**
   * Reads a content, or a single part of one, that the device should have. Returns `undefined` if the device does not have
   * it. An error while reading counts as a wrong content.
   *
   * @param isReadOnce otherwise it is read again for the same use: large parts are checked before they are used
   */
  held(part: Held, isReadOnce: boolean): AsyncIterable<Uint8Array> | undefined;
  /**
   * The same for contents of at most `MAX_BUFFERED_BYTES`, all of it at once, and without waiting where it is at hand: most
   * contents of a layer are small, and a stream for each of them takes longer than they do. The bytes are good until the next
   * call. Absent: `held` is called.
   */
  heldWhole?(part: Held): Uint8Array | Promise<Uint8Array | undefined> | undefined;
  /**
   * Reads what is at a place in a blob, as it is there. Fetches it if that was not planned, because what the device had
   * turned out to be wrong. May be called again for the same place.
   */
  fetched(place: PlacedBytes): AsyncIterable<Uint8Array>;
}
