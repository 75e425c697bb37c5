import { z } from "zod";
import { newAppSpecSchema } from "./app-spec.ts";
import { appUpdateSchema } from "./app-update.ts";

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
const deployOptionFields = {
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

/** Body of a request that deploys an app: what it is, and how it is to be carried out. */
export const deployRequestSchema = newAppSpecSchema.extend(deployOptionFields).meta({
  id: "AppDeploymentRequest",
  examples: [
    {
      name: "node-red",
      image: "registry.example.com/team/node-red:4.1",
      environments: [{ key: "TZ", value: "UTC" }],
      ports: [{ host_port: 30_080, target_port: 1880 }],
      volumes: [{ local: "/var/lib/node-red", target: "/data" }],
    },
  ],
});

/** Body of a request that updates an app. */
export const updateRequestSchema = appUpdateSchema.extend(deployOptionFields).meta({
  id: "AppUpdateRequest",
  description:
    "Fields left out keep their values; lists are replaced whole; `null` takes away what is absent by default.",
  examples: [{ image: "registry.example.com/team/node-red:4.2" }],
});

type OptionName = keyof typeof deployOptionFields;

/** Splits a request's body into the deployment's options and the specification, or the update. */
export function splitDeployRequest<T extends object>(
  body: T,
): { readonly options: Pick<T, keyof T & OptionName>; readonly spec: Omit<T, OptionName> } {
  const entries = Object.entries(body);
  return {
    options: Object.fromEntries(entries.filter(isOption)) as Pick<T, keyof T & OptionName>,
    spec: Object.fromEntries(entries.filter((entry) => !isOption(entry))) as Omit<T, OptionName>,
  };
}

function isOption([name]: [string, unknown]): boolean {
  return Object.hasOwn(deployOptionFields, name);
}
