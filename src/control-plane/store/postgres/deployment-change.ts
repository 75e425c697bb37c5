import { nextDueMs } from "../../core/deadlines.ts";
import type { Deployment, DeploymentChange } from "../../core/deployment.ts";

/** An event to be stored, in its stored form. */
export interface NewEvent {
  readonly id: string;
  readonly seq: number;
  readonly event: string;
}

/** A deployment after one or more changes, which are stored together. */
export interface ChangedDeployment {
  readonly before: Deployment;
  readonly after: Deployment;
  readonly events: readonly NewEvent[];
  /** Whether the specification was changed. */
  readonly hasNewSpec: boolean;
}

export function unchanged(before: Deployment): ChangedDeployment {
  return { before, after: before, events: [], hasNewSpec: false };
}

/** Adds a change to those before. */
export function withChange(changed: ChangedDeployment, change: DeploymentChange): ChangedDeployment {
  const { after: before } = changed;
  const event = change.event ?? before.lastEvent;
  const json = change.event && JSON.stringify(change.event);
  const lastSeq = change.event?.seq ?? before.lastSeq;
  return {
    before: changed.before,
    after: {
      ...before,
      ...change.fields,
      version: before.version + 1,
      lastSeq,
      lastEvent: event,
      eventBytes: before.eventBytes + Buffer.byteLength(json ?? ""),
    },
    events: json === undefined ? changed.events : [...changed.events, { id: before.id, seq: lastSeq, event: json }],
    hasNewSpec: changed.hasNewSpec || (change.fields !== undefined && "spec" in change.fields),
  };
}

/** A column that a change may set. */
interface ChangedColumn {
  readonly name: string;
  readonly type: "TEXT" | "BIGINT" | "INTEGER" | "SMALLINT";
  readonly valueOf: (deployment: Deployment) => string | number | undefined;
}

/** The columns that are written with each change, besides the specification. */
export const CHANGED_COLUMNS: readonly ChangedColumn[] = [
  { name: "version", type: "BIGINT", valueOf: ({ version }) => version },
  { name: "status", type: "TEXT", valueOf: ({ status }) => status },
  { name: "code", type: "TEXT", valueOf: ({ code }) => code },
  { name: "deadline_at_ms", type: "BIGINT", valueOf: ({ deadlineAtMs }) => deadlineAtMs },
  { name: "acknowledged_at_ms", type: "BIGINT", valueOf: ({ acknowledgedAtMs }) => acknowledgedAtMs },
  { name: "cancel_requested_at_ms", type: "BIGINT", valueOf: ({ cancelRequestedAtMs }) => cancelRequestedAtMs },
  { name: "is_waiting", type: "SMALLINT", valueOf: ({ isWaiting }) => (isWaiting ? 1 : 0) },
  { name: "ack_since_ms", type: "BIGINT", valueOf: ({ ackSinceMs }) => ackSinceMs },
  { name: "finished_at_ms", type: "BIGINT", valueOf: ({ finishedAtMs }) => finishedAtMs },
  { name: "delivery", type: "TEXT", valueOf: ({ delivery }) => delivery },
  { name: "finish_due_ms", type: "BIGINT", valueOf: ({ finishDueMs }) => finishDueMs },
  { name: "reply_due_ms", type: "BIGINT", valueOf: ({ replyDueMs }) => replyDueMs },
  { name: "due_at_ms", type: "BIGINT", valueOf: (deployment) => nextDueMs(deployment) },
  { name: "last_seq", type: "INTEGER", valueOf: ({ lastSeq }) => lastSeq },
  { name: "last_device_seq", type: "BIGINT", valueOf: ({ lastDeviceSeq }) => lastDeviceSeq },
  { name: "connection", type: "BIGINT", valueOf: ({ connection }) => connection },
  { name: "doubt", type: "TEXT", valueOf: ({ uncertainty }) => uncertainty },
  { name: "doubt_until_ms", type: "BIGINT", valueOf: ({ uncertainUntilMs }) => uncertainUntilMs },
  { name: "event_bytes", type: "BIGINT", valueOf: ({ eventBytes }) => eventBytes },
  { name: "omitted_events", type: "INTEGER", valueOf: ({ omittedEvents }) => omittedEvents },
];

/** Returns the values of the columns that a change sets, by the name of the column; what is not set is absent. */
export function changedValues({ after, hasNewSpec }: ChangedDeployment): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { name, valueOf } of CHANGED_COLUMNS) values[name] = valueOf(after);
  if (hasNewSpec) values["spec"] = JSON.stringify(after.spec);
  return values;
}
