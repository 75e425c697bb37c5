import type { AlertCondition, AlertSeverity, AlertSubjectKind } from "../../../protocol/alerts/condition.ts";
import type { Selectable } from "../../../protocol/fleets/selector.ts";
import type { Level } from "./levels.ts";

/** What an alert is about, with its name as it was then. */
export interface AlertSubject extends Partial<Selectable> {
  readonly kind: AlertSubjectKind;
  readonly id: string;
  readonly name: string;
}

/** An alert that is not resolved. Times are Unix milliseconds. */
export interface OpenAlert {
  readonly id: string;
  readonly condition: AlertCondition;
  readonly severity: AlertSeverity;
  readonly subject: AlertSubject;
  /** `pending`: its condition has not held for long enough. No person is told of it. */
  readonly state: "pending" | "firing";
  /** Since when the condition holds. */
  readonly sinceMs: number;
  /** Since when it no longer does. */
  readonly clearSinceMs: number | undefined;
  readonly firedAtMs: number | undefined;
  readonly isAcknowledged: boolean;
  /** Routes that have told of it. */
  readonly routeIds: readonly string[];
}

/** A condition that holds now. */
export interface Observation {
  readonly condition: AlertCondition;
  readonly subject: AlertSubject;
  /** Since when, in Unix milliseconds; `undefined`: since it is observed. */
  readonly sinceMs: number | undefined;
  /** Whether the device of the asset is not connected. */
  readonly isAway: boolean;
  /** For what devices measure: the newest values, the oldest first. Whether and since when it holds follows from the rule. */
  readonly levels?: readonly Level[] | undefined;
  /** For `agent_outdated`: the version that runs. Whether it is too old, and since when, follows from the rule. */
  readonly agentVersion?: string | undefined;
  /** Up to when it is known to hold; absent: now. */
  readonly untilMs?: number | undefined;
  /** How long the device is gone at times, by experience, in milliseconds. */
  readonly usualPauseMs?: number | undefined;
}

/** How one alert changes. */
export type AlertChange =
  | {
      readonly kind: "open";
      readonly alert: Omit<OpenAlert, "id" | "isAcknowledged" | "routeIds" | "clearSinceMs">;
      readonly usualPauseMs: number | undefined;
    }
  | { readonly kind: "fire"; readonly id: string; readonly severity: AlertSeverity }
  /** Its condition no longer holds (`clearSinceMs`), or holds again (`undefined`). */
  | { readonly kind: "clear"; readonly id: string; readonly clearSinceMs: number | undefined }
  | { readonly kind: "resolve"; readonly id: string }
  /** It was pending and has not fired: it leaves no trace. */
  | { readonly kind: "drop"; readonly id: string };

/** Identifies the open alert of a condition and a subject: there is one at most. */
export function keyOf({ condition, subject }: Pick<Observation, "condition" | "subject">): string {
  return `${condition} ${subject.id}`;
}
