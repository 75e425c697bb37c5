import { z } from "zod";
import { ALERT_CONDITION_NAMES, ALERT_SEVERITIES } from "./condition.ts";

/* Apart from the conditions themselves, which the console shows without a library of schemas. */

export const alertSeveritySchema = z
  .enum(ALERT_SEVERITIES)
  .meta({ id: "AlertSeverity", description: "How much it matters." });
export const alertConditionSchema = z
  .enum(ALERT_CONDITION_NAMES)
  .meta({ id: "AlertCondition", description: "What is the matter." });
