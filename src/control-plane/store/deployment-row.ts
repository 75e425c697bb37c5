import type { DeploymentEvent, DeploymentStatus } from "../../protocol/deployments/deployment-event.ts";
import type { DeploymentAction } from "../../protocol/deployments/deployment-action.ts";
import type { ErrorCode } from "../../protocol/errors/errors.ts";
import type { Delivery } from "../core/delivery.ts";
import type {
  Deployment,
  DeploymentState,
  DeploymentSummary,
  Progress,
  RecordedOptions,
  Uncertainty,
  UndeliveredDeployment,
} from "../core/deployment.ts";

export interface DeploymentRow {
  readonly id: string;
  readonly account_id: string;
  readonly asset_uuid: string;
  readonly app: string;
  readonly action: DeploymentAction;
  readonly spec: string;
  readonly options: string;
  readonly has_registry_auth: 0 | 1;
  readonly status: DeploymentStatus;
  readonly code: ErrorCode | null;
  readonly created_at_ms: number;
  readonly deadline_at_ms: number;
  readonly acknowledged_at_ms: number | null;
  readonly cancel_requested_at_ms: number | null;
  readonly wait_until_ms: number | null;
  readonly is_waiting: 0 | 1;
  readonly sending_since_ms: number | null;
  readonly finished_at_ms: number | null;
  readonly delivery: Delivery | null;
  readonly finish_due_ms: number | null;
  readonly reply_due_ms: number | null;
  readonly last_seq: number;
  readonly last_device_seq: number;
  readonly last_event: string | null;
  readonly version: number;
  readonly connection_epoch: number;
  readonly is_connection_lost: 0 | 1;
  readonly uncertainty: Uncertainty | null;
  readonly uncertain_until_ms: number | null;
  readonly event_bytes: number;
  readonly account_bytes: number | null;
  readonly holder: string | null;
  /** Of the device's session. */
  readonly epoch: number | null;
  readonly omitted_events: number;
}

/** One event of a deployment, with the status that the deployment has. */
export type EventRow =
  | { readonly status: DeploymentStatus; readonly seq: number; readonly json: string }
  /** No event was found. */
  | { readonly status: DeploymentStatus; readonly seq: null; readonly json: null };

const OWN_COLUMNS = [
  "id",
  "account_id",
  "asset_uuid",
  "app",
  "action",
  "spec",
  "options",
  "has_registry_auth",
  "status",
  "code",
  "created_at_ms",
  "deadline_at_ms",
  "acknowledged_at_ms",
  "cancel_requested_at_ms",
  "wait_until_ms",
  "is_waiting",
  "sending_since_ms",
  "finished_at_ms",
  "delivery",
  "finish_due_ms",
  "reply_due_ms",
  "last_seq",
  "last_device_seq",
  "version",
  "connection_epoch",
  "is_connection_lost",
  "uncertainty",
  "uncertain_until_ms",
  "event_bytes",
  "omitted_events",
] as const satisfies readonly (keyof DeploymentRow)[];

/**
 * Columns of a `DeploymentRow` except `account_bytes`, for a query with `DEPLOYMENT_JOINS`. By name: PostgreSQL refuses a
 * prepared `SELECT *` once the schema has a further column.
 */
export const DEPLOYMENT_COLUMNS = /* sql */ `
  ${OWN_COLUMNS.map((name) => `d.${name}`).join(", ")}, e.event AS last_event, s.instance_id AS holder, s.epoch`;

/** The joined tables of `DEPLOYMENT_COLUMNS`, after the table `deployments d`. */
export const DEPLOYMENT_JOINS = /* sql */ `
  LEFT JOIN deployment_events e ON e.deployment_id = d.id AND e.seq = d.last_seq
  LEFT JOIN device_sessions s ON s.asset_uuid = d.asset_uuid`;

const STATE_COLUMNS = [
  "status",
  "code",
  "created_at_ms",
  "deadline_at_ms",
  "acknowledged_at_ms",
  "is_waiting",
  "sending_since_ms",
  "finished_at_ms",
  "delivery",
  "uncertainty",
  "uncertain_until_ms",
] as const satisfies readonly (typeof OWN_COLUMNS)[number][];

type StateRow = Pick<DeploymentRow, (typeof STATE_COLUMNS)[number]>;

/** Columns of a `SummaryRow`, for a query with the table alias `d`. */
export const SUMMARY_COLUMNS = /* sql */ `
  d.id, d.asset_uuid, d.cancel_requested_at_ms, ${STATE_COLUMNS.map((name) => `d.${name}`).join(", ")}`;

type SummaryRow = StateRow & Pick<DeploymentRow, "id" | "asset_uuid" | "cancel_requested_at_ms">;

export function toSummary(value: unknown): DeploymentSummary {
  const row = value as SummaryRow;
  return {
    id: row.id,
    assetUuid: row.asset_uuid,
    state: toState(row),
    cancelRequestedAtMs: row.cancel_requested_at_ms ?? undefined,
  };
}

/** Columns of an `UndeliveredRow`, for a query with the table alias `d`. */
export const UNDELIVERED_COLUMNS = `${SUMMARY_COLUMNS}, d.has_registry_auth`;

type UndeliveredRow = SummaryRow & Pick<DeploymentRow, "has_registry_auth">;

export function toUndelivered(value: unknown): UndeliveredDeployment {
  const row = value as UndeliveredRow;
  return { ...toSummary(row), hasRegistryAuth: row.has_registry_auth === 1 };
}

function toState(row: StateRow): DeploymentState {
  const { status, uncertainty } = row;
  const progress = toProgress(row);
  if (status !== "Running") {
    const finishedAtMs = row.finished_at_ms ?? row.created_at_ms;
    if (status === "Success") return { kind: "ended", status, finishedAtMs, progress };
    const unsettled = row.delivery === null ? (uncertainty ?? undefined) : "undo";
    return { kind: "ended", status, code: row.code ?? undefined, finishedAtMs, progress, unsettled };
  }
  if (uncertainty === null) return progress;
  if (uncertainty === "asked" || uncertainty === "backup") return { kind: "uncertain", uncertainty, progress };
  return { kind: "uncertain", uncertainty, untilMs: row.uncertain_until_ms ?? row.deadline_at_ms, progress };
}

function toProgress(row: StateRow): Progress {
  const sendingSinceMs = row.sending_since_ms ?? row.created_at_ms;
  if (row.acknowledged_at_ms !== null) {
    return { kind: "acknowledged", acknowledgedAtMs: row.acknowledged_at_ms, sendingSinceMs };
  }
  return row.is_waiting === 1
    ? { kind: "waiting", sendingSinceMs: row.sending_since_ms ?? undefined }
    : { kind: "sending", sendingSinceMs };
}

export function toDeployment(row: DeploymentRow): Deployment {
  return {
    id: row.id,
    version: row.version,
    accountId: row.account_id,
    assetUuid: row.asset_uuid,
    app: row.app,
    // Written by this service, after it has validated the request.
    command: { action: row.action, spec: JSON.parse(row.spec) },
    options: JSON.parse(row.options) as RecordedOptions,
    hasRegistryAuth: row.has_registry_auth === 1,
    state: toState(row),
    createdAtMs: row.created_at_ms,
    deadlineAtMs: row.deadline_at_ms,
    cancelRequestedAtMs: row.cancel_requested_at_ms ?? undefined,
    waitUntilMs: row.wait_until_ms ?? undefined,
    finishDueMs: row.finish_due_ms ?? undefined,
    replyDueMs: row.reply_due_ms ?? undefined,
    holder: row.holder ?? undefined,
    lastSeq: row.last_seq,
    lastDeviceSeq: row.last_device_seq,
    lastEvent: row.last_event === null ? undefined : (JSON.parse(row.last_event) as DeploymentEvent),
    connection: { epoch: row.connection_epoch, isLost: row.is_connection_lost === 1 },
    eventBytes: row.event_bytes,
    accountStoredBytes: row.account_bytes ?? 0,
    omittedEvents: row.omitted_events,
  };
}
