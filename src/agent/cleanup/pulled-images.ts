import { z } from "zod";
import type { PulledImage } from "../core/image/image-cleanup.ts";
import type { LearnedStore } from "../store/store.ts";

const NAME = "pulled_images";

/** The oldest are forgotten beyond that; then they stay on the machine. */
const MAX_PULLED_IMAGES = 200;

const schema = z.array(
  z.object({
    reference: z.string(),
    id: z.string().nullable(),
    before: z.string().nullable(),
    unneededSince: z.number().nullable(),
  }),
);

/** Which images the agent pulled, remembered over restarts. */
export class PulledImages {
  readonly #store: LearnedStore;

  constructor(store: LearnedStore) {
    this.#store = store;
  }

  /** Where that was lost nothing is known, and nothing will be removed. */
  all(): readonly PulledImage[] {
    const text = this.#store.learnedValue(NAME);
    try {
      return text === undefined ? [] : schema.parse(JSON.parse(text));
    } catch {
      return [];
    }
  }

  /** Writes only what is other than before. @throws StoreError */
  replace(images: readonly PulledImage[]): void {
    const text = JSON.stringify(images.slice(-MAX_PULLED_IMAGES));
    if (text !== this.#store.learnedValue(NAME)) this.#store.saveLearnedValue(NAME, text);
  }

  /** A pull begins. Before it does: whatever comes in between, the image will be known for the agent's. @throws StoreError */
  begin(reference: string, before: string | null): void {
    const known = this.all();
    // Begun before and cut off: what stood there at that time decides.
    if (known.some((entry) => entry.reference === reference && entry.id === null)) return;
    this.replace([...known, { reference, id: null, before, unneededSince: null }]);
  }

  /** The pull is over. @throws StoreError */
  complete(reference: string, id: string): void {
    const all = this.all();
    const pending = all.find((entry) => entry.reference === reference && entry.id === null);
    if (!pending) return;
    const rest = all.filter((entry) => entry !== pending && !(entry.reference === reference && entry.id === id));
    const isOurs = pending.before !== id || all.some((entry) => entry.reference === reference && entry.id === id);
    this.replace(isOurs ? [...rest, { ...pending, id, before: null }] : rest);
  }
}
