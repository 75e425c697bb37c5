import { createHash } from "node:crypto";
import { z } from "zod";
import { annotationsSchema as annotations } from "../../lib/registry/annotations.ts";
import { JsonLimitError, parseBoundedJson } from "../../protocol/bounded-json.ts";
import { RegistryError } from "./registry-error.ts";

/** Supported manifest types, OCI's and Docker's. */
const MANIFEST_TYPES = [
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
];
const INDEX_TYPES = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
];

/** Value of the `Accept` header. Without it, registries return the schema 1 format of 2014. */
export const ACCEPT = [...INDEX_TYPES, ...MANIFEST_TYPES].join(", ");

const CONFIG_TYPES = new Set([
  "application/vnd.oci.image.config.v1+json",
  "application/vnd.docker.container.image.v1+json",
]);

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const descriptor = z.object({ mediaType: z.string().max(255), digest, size: z.int().min(0), annotations });

// Indexes contain malformed platforms: such an entry matches no machine.
const platform = z
  .object({ os: z.string(), architecture: z.string(), variant: z.string().optional() })
  .optional()
  .catch(undefined);

const indexSchema = z.object({
  manifests: z.array(descriptor.extend({ platform })).max(1000),
});

const manifestSchema = z.object({ config: descriptor, layers: z.array(descriptor).min(0).max(1000) });

const configSchema = z.object({
  os: z.string().default("linux"),
  architecture: z.string(),
  variant: z.string().optional(),
  rootfs: z.object({ diff_ids: z.array(digest).max(1000) }),
});

const referrer = descriptor.extend({ artifactType: z.string().optional() });
const referrersSchema = z.object({ manifests: z.array(referrer).max(1000) });
const artifactSchema = z.object({
  artifactType: z.string().optional(),
  config: z.object({ mediaType: z.string() }).optional(),
  subject: z.object({ digest }),
  layers: z.array(descriptor).max(2000),
});

export type Referrers = z.output<typeof referrersSchema>;
export type Artifact = z.output<typeof artifactSchema>;
export type Index = z.output<typeof indexSchema>;
export type Manifest = z.output<typeof manifestSchema>;
export type ImageConfiguration = z.output<typeof configSchema>;

export type ParsedManifest =
  | { readonly kind: "index"; readonly mediaType: string; readonly index: Index }
  | { readonly kind: "image"; readonly mediaType: string; readonly manifest: Manifest };

/**
 * Parses a manifest or an index. Its `mediaType` decides, then the `Content-Type`, then its shape: OCI makes `mediaType`
 * optional, and registries' types are often wrong. Throws `RegistryError` of kind `unsupported`.
 */
export function parseManifest(bytes: Uint8Array, contentType: string | undefined): ParsedManifest {
  const value = parseJson(bytes, "a manifest");
  const { mediaType: own, schemaVersion } = z
    .object({ mediaType: z.string().optional(), schemaVersion: z.number().optional() })
    .catch({})
    .parse(value);
  if (schemaVersion === 1)
    throw new RegistryError("unsupported", "the image has a manifest of schema version 1, which is not supported");
  const named = [own, contentType?.split(";")[0]?.trim()].find((type) => isKnown(type));
  const isIndex = named === undefined ? "manifests" in (value as object) : INDEX_TYPES.includes(named);
  if (isIndex) {
    const index = read(indexSchema, value, "a list of platforms");
    return { kind: "index", mediaType: named ?? INDEX_TYPES[0] ?? "", index };
  }
  const manifest = read(manifestSchema, value, "a manifest");
  if (!CONFIG_TYPES.has(manifest.config.mediaType)) {
    throw new RegistryError("unsupported", "the reference is not a container image");
  }
  return { kind: "image", mediaType: named ?? MANIFEST_TYPES[0] ?? "", manifest };
}

/** Parses an image configuration. Throws `RegistryError` of kind `unsupported`. */
export function parseConfiguration(bytes: Uint8Array): ImageConfiguration {
  return read(configSchema, parseJson(bytes, "an image configuration"), "an image configuration");
}

/** Parses a list of the manifests that refer to another one. Throws `RegistryError` of kind `unsupported`. */
export function parseReferrers(bytes: Uint8Array): Referrers {
  return read(referrersSchema, parseJson(bytes, "a list of referrers"), "a list of referrers");
}

/** Parses the manifest of an artifact with a subject. Throws `RegistryError` of kind `unsupported`. */
export function parseArtifact(bytes: Uint8Array): Artifact {
  return read(artifactSchema, parseJson(bytes, "an artifact"), "an artifact");
}

/** Throws `RegistryError` of kind `wrong_content` unless the bytes match the digest. */
export function verifyDigest(bytes: Uint8Array, expected: string): void {
  if (digestOf(bytes) === expected) return;
  throw new RegistryError("wrong_content", `the registry sent content that does not match ${expected}`);
}

/** Returns the digest: `sha256:` and the hash in hexadecimal. */
export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function isKnown(type: string | undefined): boolean {
  return type !== undefined && [...INDEX_TYPES, ...MANIFEST_TYPES].includes(type);
}

function parseJson(bytes: Uint8Array, what: string): unknown {
  try {
    const value = parseBoundedJson(bytes, "registry");
    if (typeof value === "object" && value !== null) return value;
  } catch (cause) {
    if (cause instanceof JsonLimitError)
      throw new RegistryError("unsupported", `the registry sent ${what} that ${cause.message}`, { cause });
  }
  throw new RegistryError("unsupported", `the registry sent something that is not ${what}`);
}

function read<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const where = result.error.issues[0]?.path.join(".") ?? "";
  throw new RegistryError("unsupported", `the registry sent something that is not ${what} (${where})`);
}
