import { z } from "zod";
import { appExtrasUpdate } from "./app-extras.ts";
import { environmentUpdates, hostNetwork, imageReference, ports, privileged, volumes } from "./app-fields.ts";
import type { EdgeError } from "../errors/errors.ts";
import { IN_WORDS } from "../values/issue-words.ts";
import { toInvalidRequest } from "../errors/request-error.ts";
import type { RequestedAppSpec } from "./app-spec.ts";

/**
 * A change of an app's specification. Omitted fields keep their values; lists are replaced as a whole, and an empty list
 * clears; `null` removes a field that is absent by default. A secret without a value keeps the one on the device. The
 * name cannot change.
 */
export const appUpdateSchema = z
  .strictObject({
    name: z
      .never("the name of an app cannot change; deploy under the new name and remove this one")
      .optional()
      // Documented as what is accepted over HTTP: a body that repeats the name of the path, such as the app's own file.
      .meta({
        type: "string",
        not: undefined,
        maxLength: 64,
        description: "The app's own name, as in the path; it cannot change.",
      }),
    image: imageReference.exactOptional(),
    host_network: hostNetwork.exactOptional(),
    privileged: privileged.exactOptional(),
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
  const result = appUpdateSchema.safeParse(input, IN_WORDS);
  if (result.success) return { ok: true, update: result.data };
  return { ok: false, error: toInvalidRequest(result.error, appUpdateSchema) };
}

/** Returns the update that turns any app into `spec`: fields that `spec` does not have are cleared. */
export function replacementOf(spec: RequestedAppSpec): AppUpdate {
  const { name: _, ...fields } = spec;
  // Fields with a default are always in `spec`, so those missing from it are the ones that `null` removes.
  const clearable = Object.keys(appUpdateSchema.shape).filter((field) => field !== "name");
  return { ...Object.fromEntries(clearable.map((field) => [field, null])), ...fields };
}
