import { z } from "zod";
import { selectorSchema } from "../../protocol/fleets/selector.ts";

/** Accounts whose devices are exported. */
export const MAX_OTLP_EXPORTS = 100;

const otlpExport = z.strictObject({
  endpoint: z
    .url({ protocol: /^https?$/ })
    .max(2_048)
    .refine((text) => !URL.canParse(text) || new URL(text).username === "", "must have no user or password")
    .meta({ description: "Where to, with the path.", examples: ["https://otlp.example.com/v1/metrics"] }),
  headers_file: z.string().min(1).optional().meta({
    description: "File with secret headers of each request, such as Authorization: one on each line, as `Name: value`.",
  }),
  interval_s: z.int().min(60).max(3_600).default(300).meta({ description: "How often, in seconds." }),
  selector: selectorSchema.default("*").meta({ description: "The assets that are exported." }),
  allow_private: z
    .boolean()
    .default(false)
    .meta({ description: "Whether the endpoint may have a private address and be without TLS." }),
});
export type OtlpExport = z.output<typeof otlpExport>;

/** The key of the configuration for the export of metrics by OpenTelemetry's protocol. */
export const otlpShape = {
  otlp_exports: z
    .record(z.string().min(1).max(64), otlpExport)
    .refine(
      (exports) => Object.keys(exports).length <= MAX_OTLP_EXPORTS,
      `must have at most ${MAX_OTLP_EXPORTS} accounts`,
    )
    .default({})
    .meta({
      description: "By account: where metrics of its devices are sent by OTLP over HTTP, in JSON; nowhere by default.",
      examples: [{ acc_c545cfa7618d81bd42ddce44: { endpoint: "https://otlp.example.com/v1/metrics" } }],
    }),
};
