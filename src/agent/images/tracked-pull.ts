import { PulledImages } from "../cleanup/pulled-images.ts";
import type { ImageSource } from "../core/image/image.ts";
import { StoreError } from "../store/store.ts";
import type { ImageRequest, ImageServices, PullResult } from "./ports.ts";
import { pullImage } from "./pull.ts";

/** Pulls, and records the image as pulled by the agent: image cleanup removes only such images. */
export async function pullTracked(
  services: ImageServices,
  request: ImageRequest,
  source: ImageSource,
  attempt: number,
): Promise<PullResult> {
  const { reference } = request;
  const pulled = new PulledImages(services.store);
  tolerateStoreError(services, () => pulled.begin(reference, source.before ?? null));
  const result = await pullImage(services, request, source, attempt);
  if (result.kind !== "retry")
    tolerateStoreError(services, () => pulled.complete(reference, result.imageId, result.digest));
  return result;
}

/** An image that is not recorded is never cleaned up. That is no reason to fail a deployment. */
function tolerateStoreError({ logger }: ImageServices, write: () => void): void {
  try {
    write();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    logger.warn({ err: error }, "the pull of an image could not be recorded; the image will not be cleaned up");
  }
}
