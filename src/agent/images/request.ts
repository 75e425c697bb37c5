import { runningEvent } from "../core/deployment/step-events.ts";
import type { CostLimits } from "../core/image/pull-cost.ts";
import type { PresentImage } from "../core/image/image.ts";
import { imageAddress } from "../registry/address.ts";
import type { RegistryAuth } from "../registry/registry.ts";
import { digestsOf } from "./digests.ts";
import type { ImageRequest, ImageServices, LocalImage } from "./ports.ts";

/** Limits for the cost of the requested image. */
export function costLimitsOf({ config }: Pick<ImageServices, "config">, request: ImageRequest): CostLimits {
  return {
    maxImageBytes: config.maxImageBytes,
    deviceMaxDownloadBytes: config.maxDownloadBytes,
    requestMaxDownloadBytes: request.maxDownloadBytes,
  };
}

/**
 * Credentials for the image's registry: those of the request, otherwise the device's. Rejects with a `RegistryError`
 * when the device's cannot be read.
 */
export async function registryAuthFor(
  { credentials }: Pick<ImageServices, "credentials">,
  { auth, reference, signal }: Pick<ImageRequest, "auth" | "reference" | "signal">,
): Promise<RegistryAuth | undefined> {
  if (!auth) return await credentials.lookup(imageAddress(reference).registry, signal);
  return "token" in auth
    ? { kind: "token", token: auth.token }
    : { kind: "basic", username: auth.username, password: auth.password };
}

/** Adds what the agent has received of an image to the traffic ledger. */
export function countReceived({ ledger }: Pick<ImageServices, "ledger">, { owner }: ImageRequest, bytes: number): void {
  ledger.count({ purpose: "pulls", direction: "received", bytes, carriedAs: "pulls", ...owner });
}

/**
 * Result for a registry that cannot be asked, or does not deliver what it was asked for, and an image that is on the
 * device.
 */
export function useLocalImage(
  services: Pick<ImageServices, "store">,
  { reference }: ImageRequest,
  image: PresentImage,
  { kind, message }: { readonly kind: string; readonly message: string },
  isResolved: boolean = false,
): LocalImage {
  const known = kind === "image_not_found" ? `has no ${reference}` : "cannot be asked";
  const what = isResolved ? "does not deliver the image" : known;
  const note = `The registry ${what} (${message}); using the image that is on the device.`;
  const digest = digestsOf(services, reference, image)[0];
  return { kind: "use_local", imageId: image.id, digest, isConfirmed: false, events: [runningEvent("pulling", note)] };
}
