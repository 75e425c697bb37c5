import type { DeviceEvent } from "../../protocol/deployments/deployment-event.ts";

export interface OutboxEvent {
  /** Position in the outbox; rises with every event added. */
  readonly position: number;
  readonly deploymentId: string;
  readonly event: DeviceEvent;
}

/** The stored events that the link sends. Every event in it is on disk. */
export interface EventSource {
  /** Returns at most `limit` unacknowledged events after `position` (0 for all), in order. */
  pendingEvents(position: number, limit: number): readonly OutboxEvent[];
  /** Records that the control plane has stored all events of this deployment up to `deviceSeq`. */
  acknowledge(deploymentId: string, deviceSeq: number): void;
  /** Calls `listener` after events were added, until disposed. */
  onEvents(listener: () => void): Disposable;
}
