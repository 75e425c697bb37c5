import { z } from "zod";
import { explainImageReference } from "./explain-image-reference.ts";
import { MAX_HOST_PORT, MIN_HOST_PORT, MAX_REQUEST_BYTES } from "../limits.ts";
import { normalizePath } from "../values/normalize-path.ts";
import { volume } from "./volume-fields.ts";

export { absolutePath } from "../values/absolute-path.ts";

/*
 * The fields of an app's specification, without defaults: a deployment fills them in, and an update omits the fields it
 * does not change.
 */

const NUL = "\0";
/** A line of `env` or of a log would show another variable than there is. */
const NOT_IN_KEY = /[=\p{Cc}\p{Zl}\p{Zp}]/u;

/** Maximum entries of a list. A request cannot hold as many, so a stored specification always stays valid. */
const MAX_ENTRIES = 16_384;

const MAX_SECRET_PARTS = 100;
/** In characters. */
const MAX_SECRET_PART = 16_384;

export const appName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/,
    "must be 1 to 63 letters, digits, '_', '.' or '-', beginning with a letter or digit",
  )
  .meta({ description: "App name, also the name of the container.", examples: ["node-red"] });

/** Suffixes of the names of containers that an update makes and replaces, and of those that cannot be removed. */
export const VERSION_SUFFIXES = { new: ".edge-agent-new", old: ".edge-agent-old", left: ".edge-agent-left" } as const;
const RESERVED_SUFFIXES = Object.values(VERSION_SUFFIXES);

/** The name of a new app: none that the container of another app has during an update. */
export const newAppName = appName
  .refine(
    (name) => !RESERVED_SUFFIXES.some((ending) => name.endsWith(ending)),
    `must not end with one of ${RESERVED_SUFFIXES.join(", ")}: containers are called so during updates`,
  )
  .meta({
    id: "AppName",
    description:
      "App name, also the name of the container. It may not end with `.edge-agent-new`, `.edge-agent-old` or `.edge-agent-left`.",
    examples: ["node-red"],
  });

export const imageReference = z
  .string()
  .max(512)
  .superRefine((value, context) => {
    const reason = explainImageReference(value);
    if (reason === undefined) return;
    context.addIssue({ code: "custom", message: `is not a valid container image reference: ${reason}` });
  })
  .meta({ description: "Container image reference.", examples: ["registry.example.com/team/app:1.2"] });

const environment = z
  .strictObject({
    key: z
      .string()
      .min(1, "must not be empty")
      .max(MAX_REQUEST_BYTES)
      .refine((key) => !NOT_IN_KEY.test(key), "must not contain '=' or control characters, such as line breaks")
      .meta({ description: "Name of the variable; each only once.", examples: ["TZ"] }),
    value: z
      .string()
      .max(MAX_REQUEST_BYTES)
      .refine((value) => !value.includes(NUL), "must not contain NUL")
      .meta({ description: "Value of the variable; may be empty.", examples: ["UTC"] }),
    secret: z
      .boolean()
      .exactOptional()
      .meta({
        description:
          "Whether the value is a secret: it is masked in everything that passes through the agent and the service, the " +
          "app's own log included. `false` by default.",
        examples: [true],
      }),
    secret_parts: z
      .array(z.string().min(1, "must not be empty").max(MAX_SECRET_PART))
      .max(MAX_SECRET_PARTS)
      .exactOptional()
      .meta({
        description:
          "Texts in the value that are secrets by themselves, such as a token in an address: masked wherever they appear, as " +
          "the value of a secret is. Never returned. Passwords in addresses (`scheme://user:password@host`) are found in " +
          "every secret without it.",
        examples: [["correct horse"]],
      }),
  })
  .meta({ id: "EnvironmentVariable" });

const NOT_AN_ADDRESS = "must be an IP address of the device";

const hostAddress = z
  .union([z.ipv4(NOT_AN_ADDRESS), z.ipv6(NOT_AN_ADDRESS)])
  .refine((address) => !/^[0:.]+$/.test(address), "must be left out for all addresses");

// The device checks the range of host_port, with its own error code, so the schema accepts any integer.
const portMapping = z
  .strictObject({
    host_port: z.int().meta({
      description: `Port on the device, ${MIN_HOST_PORT} to ${MAX_HOST_PORT} inclusive, not in use.`,
      minimum: MIN_HOST_PORT,
      maximum: MAX_HOST_PORT,
      examples: [30_080],
    }),
    target_port: z
      .int()
      .min(1)
      .max(65_535)
      .meta({ description: "Port in the container.", examples: [80] }),
    protocol: z.enum(["tcp", "udp"]).exactOptional().meta({ description: "`tcp` by default." }),
    host_address: hostAddress.exactOptional().meta({
      description:
        "Address of the device that the port is reachable at: `127.0.0.1` for the device itself only. By default all addresses.",
      examples: ["127.0.0.1"],
    }),
  })
  .meta({ id: "PortMapping" });

export const environments = z
  .array(environment)
  .max(MAX_ENTRIES)
  .superRefine(unique((entry) => entry.key, "key", "the key appears twice"))
  .meta({ description: "Environment variables of the app, beside those of its image." });

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
  .superRefine(unique((entry) => entry.key, "key", "the key appears twice"))
  .meta({ description: "Environment variables of the app, beside those of its image." });

export const ports = z
  .array(portMapping)
  .max(MAX_ENTRIES)
  .meta({ description: "Ports of the app that are reachable on the device. They have no effect with `host_network`." });

export const volumes = z
  .array(volume)
  .max(MAX_ENTRIES)
  .superRefine(unique((entry) => normalizePath(entry.target), "target", "the target appears twice"))
  .meta({ description: "Files and directories of the device, and volumes that the agent manages, in the container." });

export const hostNetwork = z.boolean().meta({
  description: "Whether the app uses the device's network instead of one of its own; `ports` have no effect then.",
});

export const privileged = z
  .boolean()
  .meta({ description: "Whether the app has all rights on the device, with all its device files." });

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
