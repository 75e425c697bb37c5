import { z } from "zod";
import { absolutePath, mountTarget } from "../values/absolute-path.ts";
import { containerOptions, containerOptionsUpdate } from "./container-options.ts";
import { aliases, externalNetworks, internalNetworks, network, networks } from "./app-network.ts";
import { appFileUpdates, storedFiles } from "./app-files.ts";
import { clearable, optional } from "./optional-fields.ts";

/*
 * The optional fields of an app's specification. They are absent by default.
 */

const NUL = "\0";

const argument = z
  .string()
  .max(4096)
  .refine((value) => !value.includes(NUL), "must not contain NUL");

/** The smallest memory limit that container engines accept. */
const MIN_MEMORY_BYTES = 6 * 1024 * 1024;

const device = z
  .strictObject({
    local: absolutePath.meta({ description: "Device file on the device.", examples: ["/dev/ttyUSB0"] }),
    target: mountTarget.exactOptional().meta({ description: "Path in the container; the same as `local` by default." }),
    permissions: z
      .string()
      .max(3)
      .regex(/^(?!.*(.).*\1)[rwm]{1,3}$/, "must be of r (read), w (write) and m (make node), each at most once")
      .exactOptional()
      .meta({ description: "What the app may do with it; `rwm` by default.", examples: ["rw"] }),
  })
  .meta({ id: "DeviceMapping" });

const healthcheck = z
  .strictObject({
    command: z
      .array(argument)
      .min(1, "must not be empty")
      .max(64)
      .meta({
        description: "Command run in the container without a shell; exit code 0 means healthy.",
        examples: [["curl", "--fail", "http://localhost:1880/"]],
      }),
    interval_s: z.number().min(1).max(3600).default(30).meta({ description: "Seconds between two runs." }),
    timeout_s: z.number().min(1).max(600).default(30).meta({ description: "Seconds one run may take." }),
    retries: z
      .int()
      .min(1)
      .max(100)
      .default(3)
      .meta({ description: "Consecutive failures after which the app is unhealthy." }),
    start_period_s: z.number().min(0).max(3600).default(0).meta({
      description: "Seconds after the start during which failures do not count.",
    }),
  })
  .meta({
    id: "Healthcheck",
    description: "Health check in place of the image's own. An app that does not become healthy fails its deployment.",
  });

const command = z
  .array(argument)
  .min(1, "must not be empty")
  .max(256)
  .meta({ description: "Arguments in place of the image's own command.", examples: [["node-red", "--safe"]] });

const cpuLimit = z
  .number()
  .min(0.01)
  .max(1024)
  .meta({ description: "Maximum number of processors the app may use; fractions are allowed.", examples: [0.5] });

const memoryLimit = z
  .int()
  .min(MIN_MEMORY_BYTES)
  .max(2 ** 45)
  .meta({ description: "Maximum memory the app may use, in bytes.", examples: [268_435_456] });

const devices = z.array(device).max(64).meta({ description: "Device files of the device that the app may use." });

const restartPolicy = z.enum(["unless-stopped", "always", "on-failure", "no"]).meta({
  description: "What the engine does when the app exits by itself; `unless-stopped` by default.",
});

const pull = z.enum(["missing", "changed", "always"]).meta({
  description:
    "When to ask the registry for the image. `missing`: only if the device does not have it. `changed`: ask what the tag " +
    "means now and pull if it differs; if the registry cannot be asked, the image on the device is used. `always`: the " +
    "same, but fail if the registry cannot be asked. By default `changed` for an update that names an image, otherwise " +
    "`missing`, except that a deployment of `latest` asks too.",
  examples: ["changed"],
});

const healthTimeout = z
  .int()
  .min(1)
  .max(3600)
  .meta({
    description:
      "Seconds the app may take to become healthy before the deployment fails. By default what the times and retries of " +
      "its health check allow, and at least the device's `deploy.health_timeout_s`.",
    examples: [300],
  });

const project = z
  .string()
  .regex(/^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/, "must be 1 to 63 letters, digits, '_', '.' or '-'")
  .meta({
    description:
      "Group that the app belongs to, set by `apply`: an `apply` of this project with `prune` removes the app if it does " +
      "not list it.",
    examples: ["line-3"],
  });

const schemas = {
  command,
  cpu_limit: cpuLimit,
  memory_limit: memoryLimit,
  devices,
  healthcheck,
  restart_policy: restartPolicy,
  pull,
  health_timeout_s: healthTimeout,
};

const groupSchemas = {
  project,
  networks,
  internal_networks: internalNetworks,
  external_networks: externalNetworks,
  network,
  aliases,
};

export const appExtras = {
  ...optional(schemas),
  ...containerOptions,
  ...optional(groupSchemas),
  /** As the device keeps them. A request has other fields: see `newAppSpecSchema`. */
  files: storedFiles.exactOptional(),
};

/** The same fields in an update. */
export const appExtrasUpdate = {
  ...clearable(schemas),
  ...containerOptionsUpdate,
  ...clearable(groupSchemas),
  files: appFileUpdates.nullable().exactOptional(),
};
