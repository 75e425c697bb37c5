import { z } from "zod";

const secret = z.string().min(1).max(16_384);

/** Credentials for the registry of one deployment's image. Never stored in clear where the service runs, never logged. */
export const registryAuthSchema = z
  .union([
    z.strictObject({ username: z.string().min(1).max(256), password: secret }),
    z.strictObject({ token: secret.meta({ description: "Bearer token for the registry." }) }),
  ])
  .meta({ id: "RegistryAuth" });
export type RegistryAuth = z.output<typeof registryAuthSchema>;

/** How a deployment or an update is to be carried out, beside what the app is: fields of the request's body. */
export const deployOptionFields = {
  registry_auth: registryAuthSchema.exactOptional().meta({
    description: "Credentials for the image's registry, for this deployment only.",
  }),
  max_download_bytes: z.int().min(0).exactOptional().meta({
    description: "Most compressed bytes the device may download for it; a higher price is `DataBudgetExceeded`.",
  }),
  urgent: z.boolean().exactOptional().meta({
    description: "Goes ahead outside the hours and budgets the device's configuration sets for downloads.",
  }),
};

/** As the device is told: with `dry_run` everything is checked and priced, and nothing changed. */
export const deployOptionsSchema = z.object({ ...deployOptionFields, dry_run: z.boolean().exactOptional() });
export type DeployOptions = z.output<typeof deployOptionsSchema>;

const OPTION_NAMES: ReadonlySet<string> = new Set(Object.keys(deployOptionFields));

function isOption([name]: [string, unknown]): boolean {
  return OPTION_NAMES.has(name);
}

/** Takes the options out of a request's body; what is left is the specification, or the update. */
export function splitOptions(body: Readonly<Record<string, unknown>>): {
  readonly options: Readonly<Record<string, unknown>>;
  readonly rest: Readonly<Record<string, unknown>>;
} {
  const entries = Object.entries(body);
  return {
    options: Object.fromEntries(entries.filter(isOption)),
    rest: Object.fromEntries(entries.filter((entry) => !isOption(entry))),
  };
}
