import type { z } from "zod";
import {
  configSchema,
  digestOf,
  documentKind,
  type ImageConfiguration,
  type ImageManifest,
  imageSchema,
  type IndexDocument,
  indexSchema,
} from "../../lib/registry/documents.ts";
import { JsonLimitError, parseBoundedJson } from "../../protocol/values/bounded-json.ts";
import { RegistryError } from "./registry-error.ts";

const CONFIG_TYPES = new Set([
  "application/vnd.oci.image.config.v1+json",
  "application/vnd.docker.container.image.v1+json",
]);

export type ParsedManifest =
  | { readonly kind: "index"; readonly index: IndexDocument }
  | { readonly kind: "image"; readonly mediaType: string; readonly manifest: ImageManifest };

/** Parses a manifest or an index. Throws `RegistryError` of kind `unsupported`. */
export function parseManifest(bytes: Uint8Array, contentType: string | undefined): ParsedManifest {
  const value = parseJson(bytes, "a manifest");
  if ((value as { schemaVersion?: unknown }).schemaVersion === 1)
    throw new RegistryError("unsupported", "the image has a manifest of schema version 1, which is not supported");
  const { isIndex, mediaType } = documentKind(value, contentType);
  if (isIndex) return { kind: "index", index: read(indexSchema, value, "a list of platforms") };
  const manifest = read(imageSchema, value, "a manifest");
  if (!CONFIG_TYPES.has(manifest.config.mediaType)) {
    throw new RegistryError("unsupported", "the reference is not a container image");
  }
  return { kind: "image", mediaType, manifest };
}

/** Parses an image configuration. Throws `RegistryError` of kind `unsupported`. */
export function parseConfiguration(bytes: Uint8Array): ImageConfiguration {
  return read(configSchema, parseJson(bytes, "an image configuration"), "an image configuration");
}

/** Throws `RegistryError` of kind `wrong_content` unless the bytes match the digest. */
export function verifyDigest(bytes: Uint8Array, expected: string): void {
  if (digestOf(bytes) === expected) return;
  throw new RegistryError("wrong_content", `the registry sent content that does not match ${expected}`);
}

function parseJson(bytes: Uint8Array, what: string): object {
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
