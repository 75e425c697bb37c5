import { z } from "zod";
import { appExtrasUpdate } from "./app-extras.ts";
import { environmentUpdates, imageReference, ports, volumes } from "./app-fields.ts";
import type { EdgeError } from "./errors.ts";
import { toInvalidRequest } from "./request-error.ts";

/** Stands for a value in answers. Sent back as the value of a secret, it keeps the device's value. */
export const MASKED_VALUE = "***";

/**
 * A change of an app's specification. Omitted fields keep their values; lists are replaced as a whole, and an empty list
 * clears; `null` removes a field that is absent by default. A secret without a value keeps the one on the device. The
 * name cannot change.
 */
export const appUpdateSchema = z
  .strictObject({
    name: z.never("the name of an app cannot change; deploy under the new name and remove this one").optional(),
    image: imageReference.exactOptional(),
    host_network: z.boolean().exactOptional(),
    privileged: z.boolean().exactOptional(),
    environments: environmentUpdates.exactOptional(),
    ports: ports.exactOptional(),
    volumes: volumes.exactOptional(),
    ...appExtrasUpdate,
  })
  .meta({ id: "AppUpdate" });
export type AppUpdate = z.output<typeof appUpdateSchema>;

export type ParsedAppUpdate =
  | { readonly ok: true; readonly update: AppUpdate }
  | { readonly ok: false; readonly error: EdgeError };

/** Validates an update. Error: `InvalidRequest` with `details.issues`. */
export function parseAppUpdate(input: unknown): ParsedAppUpdate {
  const result = appUpdateSchema.safeParse(input);
  if (result.success) return { ok: true, update: result.data };
  return { ok: false, error: toInvalidRequest(result.error) };
}
