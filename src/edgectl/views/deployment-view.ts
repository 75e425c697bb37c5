import type { StreamedEvent } from "../api/deployment-event.ts";
import type { FollowListener } from "../deploy/follow.ts";

/** Shows a deployment while it goes on. The failure itself, if it comes to that, is reported like any other. */
export interface DeploymentView extends FollowListener, Disposable {
  /** Shows how a deployment ended well. */
  success(event: StreamedEvent): void;
}

const STEP_LABELS: Readonly<Record<string, string>> = { rolling_back: "rolling back" };

/** A step's name for a person. Names this version does not know are shown as they are. */
export function stepLabel(event: StreamedEvent): string {
  return STEP_LABELS[event.step ?? ""] ?? event.step ?? "running";
}

/** Whether an event only moves the progress bar. */
export function isProgress(event: StreamedEvent): boolean {
  return event.status === "Running" && (event.bytes !== undefined || event.progress !== undefined);
}

/** How much is done, from 0 to 1. */
export function fractionOf(event: StreamedEvent): number {
  if (event.progress !== undefined) return event.progress / 100;
  const { done, total } = event.bytes ?? { done: 0, total: 0 };
  return total > 0 ? Math.min(1, done / total) : 0;
}

export const CONNECTION_LOST_TEXT = "The deployment goes on without it; trying to take the stream up again.";
