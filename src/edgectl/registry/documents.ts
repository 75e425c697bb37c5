import { z } from "zod";
import { parseJson } from "../../lib/parse-json.ts";
import { configSchema as baseConfigSchema } from "../../lib/registry/documents.ts";

const history = z.object({
  created_by: z.string().optional().catch(undefined),
  empty_layer: z.boolean().optional().catch(undefined),
});

/** The configuration of an image, with the instructions it was built by. */
export const configSchema = baseConfigSchema.extend({
  history: z.array(history).max(10_000).default([]).catch([]),
});

export type ImageConfig = z.output<typeof configSchema>;

/** A list of referrers, with fields that this program does not know, to be written again. */
export const writableIndexSchema = z.looseObject({
  manifests: z.array(z.looseObject({ artifactType: z.string().optional().catch(undefined) })).max(1000),
});

export type WritableIndex = z.output<typeof writableIndexSchema>;

export function parseDocument(bytes: Uint8Array): unknown {
  return parseJson(bytes, "registry");
}
