import { z } from "zod";
import { appName, ports } from "../../../protocol/apps/app-fields.ts";
import { type AppReport, appReportSchema } from "../../../protocol/apps/app-report.ts";
import type { AppOwner } from "../../store/fleets.ts";
import { assetParams } from "../asset-resource.ts";

/** Path parameters of every endpoint under one app of a device. */
export const appParams = assetParams.extend({ name: appName.meta({ description: "Name of the app." }) });

/** An app in a response. */
export const appSchema = appReportSchema
  .extend({
    ports: ports.meta({ description: "Port mappings, as in `spec`." }),
    owner_fleet: z
      .string()
      .nullable()
      .meta({ description: "Name of the fleet that owns the app on this asset; null: it was deployed by hand." }),
  })
  .meta({ id: "App" });

/** Adds the specification's ports. The device reported the specification, so they are dropped where they are not valid. */
export function toAppResponse(app: AppReport, owners: readonly AppOwner[]): z.output<typeof appSchema> {
  const published = ports.safeParse(app.spec["ports"]);
  const owner = owners.find(({ app: name }) => name === app.name);
  return { ...app, ports: published.success ? published.data : [], owner_fleet: owner?.fleet ?? null };
}
