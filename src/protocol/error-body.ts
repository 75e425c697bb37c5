import { z } from "zod";
import { ERRORS, type ErrorCode } from "./errors.ts";

/** Body of every refusal outside the deployment stream. */
export const errorBodySchema = z
  .strictObject({
    code: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: "Error", examples: [{ code: "AssetNotFound", message: ERRORS.AssetNotFound.message }] });
export type ErrorBody = z.output<typeof errorBodySchema>;
