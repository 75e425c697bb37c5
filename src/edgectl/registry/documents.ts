import { createHash } from "node:crypto";
import { z } from "zod";
import { parseJson } from "../../lib/parse-json.ts";
import { annotationsSchema as annotations } from "../../lib/registry/annotations.ts";

export const OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json";
export const OCI_INDEX = "application/vnd.oci.image.index.v1+json";
const MANIFESTS: readonly string[] = [OCI_MANIFEST, "application/vnd.docker.distribution.manifest.v2+json"];
const INDEXES: readonly string[] = [OCI_INDEX, "application/vnd.docker.distribution.manifest.list.v2+json"];
/** Value of the `Accept` header for manifests. */
export const ACCEPT = [...INDEXES, ...MANIFESTS].join(", ");

const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const descriptor = z.looseObject({
  mediaType: z.string().max(255),
  digest: digestSchema,
  size: z.int().min(0),
  annotations,
  artifactType: z.string().optional().catch(undefined),
});
const platform = z
  .object({ os: z.string(), architecture: z.string(), variant: z.string().optional() })
  .optional()
  .catch(undefined);

export const indexSchema = z.looseObject({ manifests: z.array(descriptor.extend({ platform })).max(1000) });
export const imageSchema = z.object({ config: descriptor, layers: z.array(descriptor).max(1000) });
export const artifactSchema = z.object({
  subject: z.object({ digest: digestSchema }),
  layers: z.array(descriptor).max(2000),
  annotations,
});
const history = z.object({
  created_by: z.string().optional().catch(undefined),
  empty_layer: z.boolean().optional().catch(undefined),
});
export const configSchema = z.object({
  os: z.string().default("linux"),
  architecture: z.string(),
  variant: z.string().optional(),
  rootfs: z.object({ diff_ids: z.array(digestSchema).max(1000) }),
  history: z.array(history).max(10_000).default([]).catch([]),
});

export type Descriptor = z.output<typeof descriptor>;
export type IndexDocument = z.output<typeof indexSchema>;
export type ImageConfig = z.output<typeof configSchema>;

/** Whether a document is a list of manifests, by its own type, the response's, or its shape. */
export function isIndex(value: unknown, contentType: string | null): boolean {
  const own = (value as { mediaType?: unknown } | null | undefined)?.mediaType;
  const named = [own, contentType?.split(";")[0]?.trim()].find((type) => {
    return typeof type === "string" && [...INDEXES, ...MANIFESTS].includes(type);
  });
  return named === undefined ? indexSchema.safeParse(value).success : INDEXES.includes(named as string);
}

/** Whether a descriptor is that of an image for a platform, and not of an attestation or another list. */
export function isImage({ mediaType }: Descriptor): boolean {
  return MANIFESTS.includes(mediaType);
}

export function parseDocument(bytes: Uint8Array): unknown {
  return parseJson(bytes, "registry");
}

/** Returns `sha256:` and the hash in hexadecimal. */
export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
