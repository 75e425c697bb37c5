import { z } from "zod";
import { newAppSpecSchema } from "./app-spec.ts";
import { appUpdateSchema } from "./app-update.ts";
import { MAX_WAIT_FOR_DEVICE_S } from "../limits.ts";

const secret = z.string().min(1).max(16_384);

/** Credentials for the registry of one deployment's image. The control plane never stores them; nothing logs them. */
export const registryAuthSchema = z
  .union([
    z.strictObject({
      username: z.string().min(1).max(256).meta({ description: "User name at the registry." }),
      password: secret.meta({ description: "Password or access token of the user." }),
    }),
    z.strictObject({ token: secret.meta({ description: "Bearer token for the registry." }) }),
  ])
  .meta({ id: "RegistryAuth" });
export type RegistryAuth = z.output<typeof registryAuthSchema>;

/** The fields of a request's body that say how the deployment is carried out. */
export const deployOptionFields = {
  registry_auth: registryAuthSchema.exactOptional().meta({
    description: "Credentials for the image's registry, for this deployment only.",
  }),
  max_download_bytes: z.int().min(0).exactOptional().meta({
    description:
      "Maximum compressed bytes the device may download; a larger download is refused with `DataBudgetExceeded`.",
  }),
  urgent: z.boolean().exactOptional().meta({
    description: "Downloads also outside the download hours and beyond the data budgets of the device's configuration.",
  }),
};

/** The fields of a request's body that are for the service alone. */
export const deliveryOptionFields = {
  wait_for_device_s: z
    .int()
    .min(0)
    .max(MAX_WAIT_FOR_DEVICE_S)
    .exactOptional()
    .meta({
      description:
        "How long to wait for a device that is not connected, instead of failing with `DeviceNotReachable`. The deployment is " +
        "sent when the device connects, and its time begins then.",
    }),
};

/** The options as sent to the device. With `dry_run` the device checks everything and computes the pull cost only. */
export const deployOptionsSchema = z.object({ ...deployOptionFields, dry_run: z.boolean().exactOptional() });
export type DeployOptions = z.output<typeof deployOptionsSchema>;

/** Body of a request that deploys an app: its specification and the options. */
export const deployRequestSchema = newAppSpecSchema
  .safeExtend({ ...deployOptionFields, ...deliveryOptionFields })
  .meta({
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
export const updateRequestSchema = appUpdateSchema.extend({ ...deployOptionFields, ...deliveryOptionFields }).meta({
  id: "AppUpdateRequest",
  description:
    "Omitted fields keep their values; lists are replaced as a whole; `null` removes a field that is absent by default.",
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
