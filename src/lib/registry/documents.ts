import { createHash } from "node:crypto";
import { z } from "zod";

/**
 * Annotations of a descriptor, which few readers use. If one of them is not a text, all are left out: an issue for each would take
 * hundreds of bytes.
 */
const annotations = z.custom<Readonly<Record<string, string>>>(areTexts).optional().catch(undefined);

function areTexts(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((text) => typeof text === "string");
}

export const OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json";
export const OCI_INDEX = "application/vnd.oci.image.index.v1+json";

/** Types of the manifest of an image, OCI's and Docker's. */
const MANIFEST_TYPES: readonly string[] = [OCI_MANIFEST, "application/vnd.docker.distribution.manifest.v2+json"];
/** Types of an index: the manifests of an image for several platforms. */
const INDEX_TYPES: readonly string[] = [OCI_INDEX, "application/vnd.docker.distribution.manifest.list.v2+json"];

/**
 * Value of the `Accept` header for manifests. Without it, registries return the schema 1 format of 2014. Indexes come first: the
 * digest of an image for several platforms is that of its index.
 */
export const ACCEPT = [...INDEX_TYPES, ...MANIFEST_TYPES].join(", ");

export const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/);

export const descriptorSchema = z.object({
  mediaType: z.string().max(255),
  digest: digestSchema,
  size: z.int().min(0),
  annotations,
});

// Indexes contain malformed platforms: such an entry matches no machine.
const platform = z
  .object({ os: z.string(), architecture: z.string(), variant: z.string().optional() })
  .optional()
  .catch(undefined);

export const indexSchema = z.object({
  manifests: z.array(descriptorSchema.extend({ platform })).max(1000),
});

export const imageSchema = z.object({ config: descriptorSchema, layers: z.array(descriptorSchema).max(1000) });

export const configSchema = z.object({
  os: z.string().default("linux"),
  architecture: z.string(),
  variant: z.string().optional(),
  rootfs: z.object({ diff_ids: z.array(digestSchema).max(1000) }),
});

const referrer = descriptorSchema.extend({ artifactType: z.string().optional().catch(undefined) });
/** A list of the manifests that refer to another one. */
export const referrersSchema = z.object({ manifests: z.array(referrer).max(1000) });

/** The manifest of an artifact with a subject. */
export const artifactSchema = z.object({
  subject: z.object({ digest: digestSchema }),
  layers: z.array(descriptorSchema).max(2000),
});

export type Descriptor = z.output<typeof descriptorSchema>;
export type IndexDocument = z.output<typeof indexSchema>;
export type ImageManifest = z.output<typeof imageSchema>;
export type ImageConfiguration = z.output<typeof configSchema>;
export type ReferrersDocument = z.output<typeof referrersSchema>;

/** Returns the type in a `Content-Type` header, without parameters. */
export function mediaTypeOf(contentType: string | undefined): string | undefined {
  return contentType?.split(";")[0]?.trim().toLowerCase();
}

export function isManifestType(type: string | undefined): boolean {
  return type !== undefined && MANIFEST_TYPES.includes(type);
}

export function isIndexType(type: string | undefined): boolean {
  return type !== undefined && INDEX_TYPES.includes(type);
}

/**
 * Decides whether a document is an index. Its `mediaType` decides, then the `Content-Type`, then its shape: OCI makes `mediaType`
 * optional, and registries' types are often wrong.
 *
 * @returns `mediaType` is the one that decided, or OCI's of the shape
 */
export function documentKind(
  value: unknown,
  contentType: string | undefined,
): { readonly isIndex: boolean; readonly mediaType: string } {
  const isObject = typeof value === "object" && value !== null;
  const own = isObject && "mediaType" in value && typeof value.mediaType === "string" ? value.mediaType : undefined;
  const named = [own, mediaTypeOf(contentType)].find((type) => isManifestType(type) || isIndexType(type));
  const isIndex = named === undefined ? isObject && "manifests" in value : isIndexType(named);
  return { isIndex, mediaType: named ?? (isIndex ? OCI_INDEX : OCI_MANIFEST) };
}

/** Returns the digest: `sha256:` and the hash in hexadecimal. */
export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
