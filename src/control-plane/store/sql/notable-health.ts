import { MIN_ALERT_LEVELS } from "../../../protocol/alerts/condition.ts";

/** Condition of the rows of `device_health` that an alert may be about: that of an index, and so the same text everywhere. */
export const NOTABLE_HEALTH = `(${Object.entries(MIN_ALERT_LEVELS)
  .map(([metric, value]) => `${metric} > ${value}`)
  .join(" OR ")})`;
