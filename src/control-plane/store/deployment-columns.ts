import { nextDueMs } from "../core/deadlines.ts";
import { deliveryOf } from "../core/delivery.ts";
import {
  acknowledgedAtMsOf,
  codeOf,
  type Deployment,
  finishedAtMsOf,
  progressOf,
  statusOf,
  uncertaintyOf,
} from "../core/deployment.ts";
import type { DeploymentCreation, DeploymentUpdate, Idempotency } from "./deployments.ts";

/** A column that a change may set. */
interface ChangedColumn {
  readonly name: string;
  readonly type: "TEXT" | "BIGINT" | "INTEGER" | "SMALLINT";
  readonly valueOf: (deployment: Deployment) => string | number | undefined;
}

/** The columns that are written with each change, besides the specification. */
export const CHANGED_COLUMNS: readonly ChangedColumn[] = [
  { name: "version", type: "BIGINT", valueOf: ({ version }) => version },
  { name: "status", type: "TEXT", valueOf: statusOf },
  { name: "code", type: "TEXT", valueOf: codeOf },
  { name: "deadline_at_ms", type: "BIGINT", valueOf: ({ deadlineAtMs }) => deadlineAtMs },
  { name: "acknowledged_at_ms", type: "BIGINT", valueOf: acknowledgedAtMsOf },
  { name: "cancel_requested_at_ms", type: "BIGINT", valueOf: ({ cancelRequestedAtMs }) => cancelRequestedAtMs },
  {
    name: "is_waiting",
    type: "SMALLINT",
    valueOf: (deployment) => (progressOf(deployment).kind === "waiting" ? 1 : 0),
  },
  { name: "sending_since_ms", type: "BIGINT", valueOf: (deployment) => progressOf(deployment).sendingSinceMs },
  { name: "finished_at_ms", type: "BIGINT", valueOf: finishedAtMsOf },
  { name: "delivery", type: "TEXT", valueOf: deliveryOf },
  { name: "finish_due_ms", type: "BIGINT", valueOf: ({ finishDueMs }) => finishDueMs },
  { name: "reply_due_ms", type: "BIGINT", valueOf: ({ replyDueMs }) => replyDueMs },
  { name: "due_at_ms", type: "BIGINT", valueOf: (deployment) => nextDueMs(deployment) },
  { name: "last_seq", type: "INTEGER", valueOf: ({ lastSeq }) => lastSeq },
  { name: "last_device_seq", type: "BIGINT", valueOf: ({ lastDeviceSeq }) => lastDeviceSeq },
  { name: "connection_epoch", type: "BIGINT", valueOf: ({ connection }) => connection.epoch },
  { name: "is_connection_lost", type: "SMALLINT", valueOf: ({ connection }) => (connection.isLost ? 1 : 0) },
  { name: "uncertainty", type: "TEXT", valueOf: uncertaintyOf },
  {
    name: "uncertain_until_ms",
    type: "BIGINT",
    valueOf: ({ state }) => ("untilMs" in state ? state.untilMs : undefined),
  },
  { name: "event_bytes", type: "BIGINT", valueOf: ({ eventBytes }) => eventBytes },
  { name: "omitted_events", type: "INTEGER", valueOf: ({ omittedEvents }) => omittedEvents },
];

/** Returns the specification to be written with a change; `null` if it stays, since it may be large. */
export function changedSpec({ before, after }: Pick<DeploymentUpdate, "before" | "after">): string | null {
  return after.command === before.command ? null : JSON.stringify(after.command.spec);
}

/** Returns the values of `CHANGED_COLUMNS`, in their order. */
export function changedValues(deployment: Deployment): (string | number | null)[] {
  return CHANGED_COLUMNS.map(({ valueOf }) => valueOf(deployment) ?? null);
}

interface FirstColumn {
  readonly name: string;
  readonly valueOf: (
    deployment: Deployment,
    idempotency: Idempotency | undefined,
  ) => string | number | Uint8Array | undefined;
}

/** The columns that are written with a new deployment, and with no change, apart from the specification. */
const FIRST_COLUMNS: readonly FirstColumn[] = [
  { name: "id", valueOf: ({ id }) => id },
  { name: "account_id", valueOf: ({ accountId }) => accountId },
  { name: "asset_uuid", valueOf: ({ assetUuid }) => assetUuid },
  { name: "app", valueOf: ({ app }) => app },
  { name: "action", valueOf: ({ command }) => command.action },
  { name: "spec", valueOf: ({ command }) => JSON.stringify(command.spec) },
  { name: "options", valueOf: ({ options }) => JSON.stringify(options) },
  { name: "has_registry_auth", valueOf: ({ hasRegistryAuth }) => (hasRegistryAuth ? 1 : 0) },
  { name: "created_at_ms", valueOf: ({ createdAtMs }) => createdAtMs },
  { name: "wait_until_ms", valueOf: ({ waitUntilMs }) => waitUntilMs },
  { name: "idempotency_key", valueOf: (_, idempotency) => idempotency?.key },
  { name: "request_hash", valueOf: (_, idempotency) => idempotency?.requestHash },
];

/** The columns of a new deployment. */
export const CREATED_COLUMNS: readonly string[] = [...FIRST_COLUMNS, ...CHANGED_COLUMNS].map(({ name }) => name);

/** Returns the values of `CREATED_COLUMNS`, in their order. */
export function createdValues({
  after,
  idempotency,
}: Pick<DeploymentCreation, "after" | "idempotency">): (string | number | Uint8Array | null)[] {
  return [...FIRST_COLUMNS.map(({ valueOf }) => valueOf(after, idempotency) ?? null), ...changedValues(after)];
}
