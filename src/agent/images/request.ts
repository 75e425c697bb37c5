import { runningEvent } from "../core/deployment/step-events.ts";
import type { CostLimits } from "../core/image/pull-cost.ts";
import { imageAddress } from "../registry/address.ts";
import type { RegistryAuth } from "../registry/registry.ts";
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
  { auth, reference, signal }: ImageRequest,
): Promise<RegistryAuth | undefined> {
  if (!auth) return await credentials.lookup(imageAddress(reference).registry, signal);
  return "token" in auth
    ? { kind: "token", token: auth.token }
    : { kind: "basic", username: auth.username, password: auth.password };
}

/** Adds received bytes to the traffic ledger. */
export function countReceived({ ledger }: Pick<ImageServices, "ledger">, { owner }: ImageRequest, bytes: number): void {
  ledger.count({ purpose: "pulls", direction: "received", bytes, ...owner });
}

/** Result for an unreachable registry and an image that is on the device. */
export function useLocalImage(imageId: string): LocalImage {
  const note = "The registry cannot be reached; using the image that is on the device.";
  return { kind: "use_local", imageId, events: [runningEvent("pulling", note)] };
}
