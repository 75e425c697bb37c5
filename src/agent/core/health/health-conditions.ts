import { ALERT_CONDITIONS, HEALTH_CONDITIONS, type HealthCondition } from "../../../protocol/alerts/condition.ts";
import type { HealthRow } from "../../../protocol/link/health-points.ts";
import { HEALTH_REPORT_ROW_S } from "../../../protocol/link/health-rows.ts";

/** Judges rows of 15 minutes as the service does, by the levels and times of alerts that apply unless an account sets others. */
export class HealthConditions {
  /** How many rows in a row each figure has been above its level. */
  #counts = new Map<HealthCondition, number>();
  #lastAt: number | undefined;

  /** Adds the next row. */
  add({ at, spreads }: HealthRow): void {
    const follows = this.#lastAt === at - HEALTH_REPORT_ROW_S;
    this.#lastAt = at;
    this.#counts = new Map(
      HEALTH_CONDITIONS.map((condition) => {
        const { metric, value } = ALERT_CONDITIONS[condition].above;
        const isAbove = Math.round(spreads[metric]?.[1] ?? Number.NEGATIVE_INFINITY) > value;
        return [condition, isAbove ? 1 + (follows ? (this.#counts.get(condition) ?? 0) : 0) : 0];
      }),
    );
  }

  /** Those that have held for their time, up to the newest row. */
  get holding(): ReadonlySet<HealthCondition> {
    const lasting = [...this.#counts].filter(
      ([condition, count]) => count > 0 && count * HEALTH_REPORT_ROW_S >= ALERT_CONDITIONS[condition].forS,
    );
    return new Set(lasting.map(([condition]) => condition));
  }
}
