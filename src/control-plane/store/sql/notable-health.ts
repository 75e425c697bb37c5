import { ALERT_CONDITIONS, HEALTH_CONDITIONS } from "../../../protocol/alerts/condition.ts";
import { withMargin } from "../../../protocol/alerts/level-time.ts";

export const OPERATORS = { above: ">", below: "<" } as const;

/** Condition of the rows of `device_health` that an alert may be about: that of an index, and so the same text everywhere. */
export const NOTABLE_HEALTH = `(${HEALTH_CONDITIONS.map((condition) => {
  const { metric, side, widest } = ALERT_CONDITIONS[condition].level;
  return `${metric} ${OPERATORS[side]} ${withMargin({ side, limit: widest })}`;
}).join(" OR ")})`;
