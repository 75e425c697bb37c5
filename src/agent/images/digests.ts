import { PulledImages } from "../cleanup/pulled-images.ts";
import { knownDigests } from "../core/image/known-digest.ts";
import type { PresentImage } from "../core/image/image.ts";
import type { ImageServices } from "./ports.ts";

/** Returns the digests by which an image on the device is known in the reference's repository; the latest first. */
export function digestsOf(
  { store }: Pick<ImageServices, "store">,
  reference: string,
  { id, repoDigests }: PresentImage,
): string[] {
  const apps = store.apps().map(({ spec, imageId, digest }) => ({ reference: spec.image, imageId, digest }));
  const pulled = new PulledImages(store).all().map(({ reference: name, id: imageId, digest }) => {
    return { reference: name, imageId, digest };
  });
  return knownDigests(reference, { imageId: id, repoDigests, recorded: [...apps, ...pulled.toReversed()] });
}
