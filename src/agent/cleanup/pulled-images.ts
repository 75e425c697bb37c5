import { z } from "zod";
import type { PulledImage } from "../core/image/image-cleanup.ts";
import type { LearnedStore } from "../store/store.ts";

const NAME = "pulled_images";

/** Older entries are dropped; their images then stay on the device. */
const MAX_PULLED_IMAGES = 200;

const schema = z.array(
  z.object({
    reference: z.string(),
    id: z.string().nullable(),
    before: z.string().nullable(),
    unneededSince: z.number().nullable(),
    digest: z.string().exactOptional(),
  }),
);

/** The images the agent pulled, stored across restarts. */
export class PulledImages {
  readonly #store: LearnedStore;

  constructor(store: LearnedStore) {
    this.#store = store;
  }

  /** Empty when the stored list is unreadable; then nothing is removed. */
  all(): readonly PulledImage[] {
    const text = this.#store.learnedValue(NAME);
    try {
      return text === undefined ? [] : schema.parse(JSON.parse(text));
    } catch {
      return [];
    }
  }

  /** Writes the list if it has changed. @throws StoreError */
  replace(images: readonly PulledImage[]): void {
    const text = JSON.stringify(images.slice(-MAX_PULLED_IMAGES));
    if (text !== this.#store.learnedValue(NAME)) this.#store.saveLearnedValue(NAME, text);
  }

  /** Must be called before a pull, so that its image counts as the agent's even after a crash. @throws StoreError */
  begin(reference: string, before: string | null): void {
    const known = this.all();
    // After an interrupted pull, the image from before that pull counts.
    if (known.some((entry) => entry.reference === reference && entry.id === null)) return;
    this.replace([...known, { reference, id: null, before, unneededSince: null }]);
  }

  /** Records the image of a finished pull. @throws StoreError */
  complete(reference: string, id: string, digest?: string): void {
    const all = this.all();
    const pending = all.find((entry) => entry.reference === reference && entry.id === null);
    if (!pending) return;
    const rest = all.filter((entry) => entry !== pending && !(entry.reference === reference && entry.id === id));
    const isOwn = pending.before !== id || all.some((entry) => entry.reference === reference && entry.id === id);
    const entry = { ...pending, id, before: null, ...(digest !== undefined && { digest }) };
    this.replace(isOwn ? [...rest, entry] : rest);
  }
}
