import { z } from "zod";
import { unixSeconds } from "../values/scalars.ts";

const bytes = z
  .int()
  .min(1)
  .meta({ description: "Bytes in a calendar month in UTC.", examples: [1_000_000_000] });

/** Request of Set Allowance. */
export const allowanceRequestSchema = z
  .strictObject({ bytes })
  .meta({ id: "AllowanceRequest", examples: [{ bytes: 1_000_000_000 }] });

/** The monthly allowance of a SIM, and how much of it is used. */
export const allowanceSchema = z
  .strictObject({
    bytes,
    source: z.enum(["manual", "operator"]).meta({
      description: "`manual`: set here. `operator`: as the SIM operator says; a manual value takes precedence.",
    }),
    period: z.literal("calendar_month").meta({ description: "The allowance begins anew with each month in UTC." }),
    used_bytes: z.int().min(0).meta({ description: "Bytes used since the month began." }),
    forecast_bytes: z
      .int()
      .min(0)
      .meta({
        description:
          "Bytes expected by the end of the month: those used, and for the rest of the month the mean of the last 7 whole days in " +
          "UTC, or of those since the SIM is known. `used_bytes` until there is one whole day.",
      }),
    exceeded_at: unixSeconds(
      "When the allowance is used up, if usage goes on like that; absent if not this month. Once it is used up: the start of that day.",
    ).exactOptional(),
    as_of: unixSeconds(
      "When the SIM operator last said what was used. Absent where usage is imported.",
    ).exactOptional(),
  })
  .meta({ id: "Allowance" });
export type AllowanceBody = z.output<typeof allowanceSchema>;

/** What becomes of deployments to an asset whose plan is used up. */
export const planDeploymentsSchema = z.enum(["ignore", "wait", "urgent"]).meta({
  description:
    "What becomes of a deployment that may download to an asset with a used-up allowance: `ignore`: nothing, it is carried out; " +
    "`wait`: it waits until the allowance allows it again; `urgent`: it fails with `DataBudgetExceeded`. One with `urgent` is " +
    "carried out in any case.",
});
export type PlanDeployments = z.output<typeof planDeploymentsSchema>;

/** Settings of an account about the data plans of its SIMs. */
export const dataPlanSettingsSchema = z
  .strictObject({ deployments: planDeploymentsSchema })
  .meta({ id: "DataPlanSettings", examples: [{ deployments: "urgent" }] });
export type DataPlanSettings = z.output<typeof dataPlanSettingsSchema>;
