import { ports } from "../../../protocol/app-fields.ts";
import { type AppReport, appReportSchema } from "../../../protocol/app-report.ts";
import type { z } from "zod";

/** An app as the API shows it. */
export const appSchema = appReportSchema
  .extend({ ports: ports.meta({ description: "As in `spec`." }) })
  .meta({ id: "App" });

/** The ports are lifted out of the specification, which is the device's word and may hold anything. */
export function toAppResponse(app: AppReport): z.output<typeof appSchema> {
  const published = ports.safeParse(app.spec["ports"]);
  return { ...app, ports: published.success ? published.data : [] };
}
