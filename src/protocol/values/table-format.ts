import { z } from "zod";

/** Format of a response that is also there as a table. */
export const tableFormatSchema = z
  .enum(["json", "csv"])
  .optional()
  .meta({ description: "Format of the response; by the header `Accept` if absent, and JSON if that allows it." });
