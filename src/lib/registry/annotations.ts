import { z } from "zod";

/**
 * Annotations of a descriptor. Of no use to most readers: ones that are not all texts are left out, without an issue for each,
 * which would take hundreds of bytes for every one.
 */
export const annotationsSchema = z.custom<Readonly<Record<string, string>>>(areTexts).optional().catch(undefined);

function areTexts(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((text) => typeof text === "string");
}
