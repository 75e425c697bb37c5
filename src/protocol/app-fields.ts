import { z } from "zod";
import { parseImageReference } from "./image-reference.ts";
import { MAX_HOST_PORT, MIN_HOST_PORT, MAX_REQUEST_BYTES } from "./limits.ts";
import { normalizePath } from "./normalize-path.ts";

/*
 * The fields of an app's specification, without defaults: a deployment fills them in, and an update omits the fields it
 * does not change.
 */

const NUL = "\0";

/** Maximum entries of a list. A request cannot hold as many, so a stored specification always stays valid. */
const MAX_ENTRIES = 16_384;

export const appName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/,
    "must be 1 to 63 letters, digits, '_', '.' or '-', beginning with a letter or digit",
  )
  .meta({ description: "App name, also the name of the container.", examples: ["node-red"] });

/** Suffixes of the container names of the new and the old version during an update. */
export const VERSION_SUFFIXES = { new: ".edge-agent-new", old: ".edge-agent-old" } as const;

/** The name of a new app. Apps deployed by earlier releases may have names that are reserved now. */
export const newAppName = appName
  .refine(
    (name) => !Object.values(VERSION_SUFFIXES).some((ending) => name.endsWith(ending)),
    `must not end with '${VERSION_SUFFIXES.new}' or '${VERSION_SUFFIXES.old}': containers are called so during updates`,
  )
  .meta({
    description:
      "App name, also the name of the container. It may not end with `.edge-agent-new` or `.edge-agent-old`.",
    examples: ["node-red"],
  });

export const imageReference = z
  .string()
  .max(512)
  .refine((value) => parseImageReference(value) !== undefined, "is not a valid container image reference")
  .meta({ description: "Container image reference.", examples: ["registry.example.com/team/app:1.2"] });

const environment = z
  .strictObject({
    key: z
      .string()
      .min(1, "must not be empty")
      .max(MAX_REQUEST_BYTES)
      .refine((key) => !key.includes("=") && !key.includes(NUL), "must not contain '=' or NUL"),
    value: z
      .string()
      .max(MAX_REQUEST_BYTES)
      .refine((value) => !value.includes(NUL), "must not contain NUL"),
    secret: z
      .boolean()
      .exactOptional()
      .meta({
        description:
          "Whether the value is a secret: it is masked in everything that passes through the agent and the service, the " +
          "app's own log included. `false` by default.",
        examples: [true],
      }),
  })
  .meta({ id: "EnvironmentVariable" });

// The device checks the range of host_port, with its own error code, so the schema accepts any integer.
const portMapping = z
  .strictObject({
    host_port: z.int().meta({
      description: `Port on the device, ${MIN_HOST_PORT} to ${MAX_HOST_PORT} inclusive, not in use.`,
      examples: [30_080],
    }),
    target_port: z
      .int()
      .min(1)
      .max(65_535)
      .meta({ description: "Port in the container.", examples: [80] }),
    protocol: z.enum(["tcp", "udp"]).exactOptional().meta({ description: "`tcp` by default." }),
  })
  .meta({ id: "PortMapping" });

export const absolutePath = z
  .string()
  .max(4096)
  .refine((path) => path.startsWith("/"), "must be an absolute path")
  .refine((path) => !path.split("/").includes(".."), "must not contain a '..' segment")
  .refine((path) => !path.includes(NUL), "must not contain NUL");

const volume = z
  .strictObject({
    local: absolutePath.meta({ description: "Path on the device.", examples: ["/var/lib/node-red"] }),
    target: absolutePath
      .refine((path) => normalizePath(path) !== "/", "must not be the container's root")
      .meta({ description: "Path in the container.", examples: ["/data"] }),
    readonly: z.boolean().default(false),
  })
  .meta({ id: "Volume" });

export const environments = z
  .array(environment)
  .max(MAX_ENTRIES)
  .superRefine(unique((entry) => entry.key, "key", "the key appears twice"));

/** In an update, the value of a secret may be omitted: it stays as it is on the device. */
const environmentUpdate = environment
  .partial({ value: true })
  .superRefine(({ value, secret }, context) => {
    if (value === undefined && secret !== true) {
      context.addIssue({
        code: "custom",
        path: ["value"],
        message: "is missing; only a secret may omit it, to keep it",
      });
    }
  })
  .meta({ id: "EnvironmentVariableUpdate" });

export const environmentUpdates = z
  .array(environmentUpdate)
  .max(MAX_ENTRIES)
  .superRefine(unique((entry) => entry.key, "key", "the key appears twice"));

export const ports = z.array(portMapping).max(MAX_ENTRIES);

export const volumes = z
  .array(volume)
  .max(MAX_ENTRIES)
  .superRefine(unique((entry) => normalizePath(entry.target), "target", "the target appears twice"));

function unique<T>(key: (entry: T) => string, field: string, message: string) {
  return (entries: readonly T[], context: z.RefinementCtx): void => {
    const seen = new Set<string>();
    for (const [index, entry] of entries.entries()) {
      const value = key(entry);
      if (seen.has(value)) context.addIssue({ code: "custom", path: [index, field], message });
      seen.add(value);
    }
  };
}
