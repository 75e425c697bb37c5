import { digestsOf } from "./digests.ts";
import type { ImageProvider, ImageServices } from "./ports.ts";
import { resolveImage } from "./resolve.ts";
import { pullTracked } from "./tracked-pull.ts";

export function createImageProvider(services: ImageServices): ImageProvider {
  return {
    resolve: (request) => resolveImage(services, request),
    pull: (request, source, attempt) => pullTracked(services, request, source, attempt),
    knownDigest: (reference, image) => digestsOf(services, reference, image)[0],
  };
}
