import { z } from "zod";

/** Reasons why an asset needs attention. The order is the order of display. */
export const ATTENTION_REASONS = [
  "not_seen",
  "cloned_identity",
  "device_replaced",
  "acceptance",
  "app_missing",
  "app_stopped",
  "app_restarting",
  "app_unhealthy",
  "app_not_repaired",
  "drifted",
  "stopped_by_hand",
  "deployment_failed",
  "update_waiting",
  "engine_trouble",
  "state_not_writable",
  "disk_low",
  "clock_wrong",
  "data_budget_spent",
  "data_budget_low",
  "data",
] as const;
export const attentionReasonSchema = z.enum(ATTENTION_REASONS).meta({ id: "AttentionReason" });
export type AttentionReason = z.output<typeof attentionReasonSchema>;

const count = (description: string) => z.int().min(0).meta({ description });

/** Response of Get Overview. */
export const overviewSchema = z
  .strictObject({
    as_of: z.int().min(0).meta({ description: "When it was counted. Unix seconds, UTC." }),
    assets: count("All assets."),
    connected: count("Assets whose device is connected."),
    not_connected: count("Assets whose device has been connected before and is not now."),
    never_connected: count("Assets whose device has not been connected yet."),
    attention: count("Assets that need attention, for any reason."),
    reasons: z
      .record(attentionReasonSchema, count("Assets with this reason."))
      .meta({ description: "Assets for each reason; one asset may have several." }),
    deployments_running: count("Deployments that have not ended."),
  })
  .meta({ id: "Overview" });
export type Overview = z.output<typeof overviewSchema>;
