import { imageAddress } from "../registry/address.ts";
import type { RegistryAuth } from "../core/image/registry-auth.ts";
import type { StepContext } from "./context.ts";

/**
 * What to show the image's registry: what came with the deployment, else what the device knows. Rejects with a
 * `RegistryError` where that should be there and cannot be had.
 */
export async function authFor(
  { record, credentials, signal }: StepContext,
  reference: string,
): Promise<RegistryAuth | undefined> {
  const { registry_auth: own } = record.options;
  if (!own) return await credentials.lookup(imageAddress(reference).registry, signal);
  return "token" in own
    ? { kind: "token", token: own.token }
    : { kind: "basic", username: own.username, password: own.password };
}
