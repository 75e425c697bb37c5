import type { StatementSync } from "node:sqlite";
import { z } from "zod";
import { deploymentActionSchema } from "../../protocol/deployments/deployment-action.ts";
import {
  deploymentStepSchema,
  deploymentStatusSchema,
  type EventContent,
} from "../../protocol/deployments/deployment-event.ts";
import { withoutTimings } from "../../protocol/deployments/deployment-timings.ts";
import type { DeploymentRecord } from "../core/records.ts";
import { anyObject } from "../../protocol/values/scalars.ts";

/** Entries kept of each kind; older ones are removed. */
export const MAX_HISTORY_ENTRIES = 200;

/** Entries beyond that before old ones are removed, all at once, because each removal writes to the flash. */
export const MAX_HISTORY_EXCESS_ENTRIES = 50;

/** Maximum length of `details` kept of an event, in characters: enough for the last log lines. */
const MAX_DETAILS_LENGTH = 4_000;

const timedEventSchema = z.object({
  /** Omitted on disk when `Running`, as in nearly every event, so that an entry fits into one page of the database. */
  status: deploymentStatusSchema.default("Running"),
  step: deploymentStepSchema,
  message: z.string(),
  code: z.string().exactOptional(),
  progress: z.number().exactOptional(),
  /** Of a group: the app that it is about. */
  app: z.string().exactOptional(),
  details: anyObject.exactOptional(),
  /** Unix seconds by the device's clock; `null` when unknown, for example after a reboot. */
  at: z.int().nullable(),
});

const deploymentEntrySchema = z.object({
  kind: z.literal("deployment"),
  id: z.string(),
  /** Empty when the request named none. */
  app: z.string(),
  /** Image reference; empty when the request named none. */
  image: z.string(),
  origin: z.enum(["control_plane", "local"]),
  action: deploymentActionSchema.default("deploy"),
  /** Set for a dry run. */
  dry_run: z.literal(true).exactOptional(),
  events: z.array(timedEventSchema),
});

const repairEntrySchema = z.object({
  kind: z.literal("repair"),
  app: z.string(),
  /** Unix seconds. */
  at: z.int(),
  /** Why the repair was needed. */
  reason: z.string(),
  /** Why the repair failed; absent when it succeeded. */
  error: z.string().exactOptional(),
});

/** A deployment or repair of an app, kept for people. */
export const historyEntrySchema = z.discriminatedUnion("kind", [deploymentEntrySchema, repairEntrySchema]);
export type HistoryEntry = z.output<typeof historyEntrySchema>;
export type DeploymentEntry = z.output<typeof deploymentEntrySchema>;
export type TimedEvent = z.output<typeof timedEventSchema>;

/** Returns the entry of a deployment with its events so far. */
export function deploymentEntry(record: DeploymentRecord, events: readonly TimedEvent[]): DeploymentEntry {
  const { app, spec, origin, action, options } = record;
  const id = record.group?.id ?? record.id;
  const dryRun = options.dry_run ? { dry_run: true as const } : {};
  return { kind: "deployment", id, app, image: spec?.image ?? "", origin, action, ...dryRun, events: [...events] };
}

/**
 * Returns the entry to store. How long the steps took is in the control plane's record, and left out here, where it would
 * cost a page of the database; a local deployment has no other record.
 */
export function entryToStore(record: DeploymentRecord, events: readonly TimedEvent[]): DeploymentEntry {
  const entry = deploymentEntry(record, events);
  return record.origin === "local" ? entry : { ...entry, events: entry.events.map(withoutTimes) };
}

function withoutTimes({ details, ...event }: TimedEvent): TimedEvent {
  const rest = withoutTimings(details ?? {});
  return Object.keys(rest).length > 0 ? { ...event, details: rest } : event;
}

/** Converts an event for the history. */
export function timedEvent(content: EventContent, at: number | null): TimedEvent {
  const { status, step, message, code, progress, app, details } = content;
  const isSmall = details === undefined || JSON.stringify(details).length <= MAX_DETAILS_LENGTH;
  return {
    status,
    step,
    message,
    at,
    ...(code !== undefined && { code }),
    ...(progress !== undefined && { progress }),
    ...(app !== undefined && { app }),
    ...(details !== undefined && isSmall && { details }),
  };
}

/** The history table. A deployment is one row, written once at its end, to spare the flash. */
export class HistoryTable {
  readonly #sql: (text: string) => StatementSync;

  constructor(sql: (text: string) => StatementSync) {
    this.#sql = sql;
  }

  /** Adds an entry, or replaces that of a success that was rolled back. Must be called in a transaction. */
  add(entry: HistoryEntry): void {
    const id = entry.kind === "deployment" ? entry.id : null;
    if (id !== null) this.#sql("DELETE FROM history WHERE deployment_id = ?").run(id);
    this.#sql("INSERT INTO history (kind, deployment_id, entry) VALUES (?, ?, ?)").run(
      entry.kind,
      id,
      JSON.stringify(entry, omitRunning),
    );
    this.#sql(
      `DELETE FROM history WHERE kind = ?1
         AND position <= (SELECT position FROM history WHERE kind = ?1 ORDER BY position DESC LIMIT 1 OFFSET ${MAX_HISTORY_ENTRIES})
         AND (SELECT count(*) FROM history WHERE kind = ?1) > ${MAX_HISTORY_ENTRIES + MAX_HISTORY_EXCESS_ENTRIES}`,
    ).run(entry.kind);
  }

  /** Final status of the deployment; `undefined` when unknown or no longer kept. */
  finalStatusOf(deploymentId: string): "Success" | "Fail" | undefined {
    const row = this.#sql("SELECT entry FROM history WHERE deployment_id = ?").get(deploymentId);
    const entry = row && parseEntry(String(row["entry"]));
    const status = entry?.kind === "deployment" ? entry.events.at(-1)?.status : undefined;
    return status === "Running" ? undefined : status;
  }

  /** The last `limit` entries, oldest first. Unreadable rows are left out. */
  last(limit: number): HistoryEntry[] {
    const rows = this.#sql("SELECT entry FROM history ORDER BY position DESC LIMIT ?").all(limit);
    return rows.toReversed().flatMap((row) => parseEntry(String(row["entry"])) ?? []);
  }
}

function omitRunning(key: string, value: unknown): unknown {
  return key === "status" && value === "Running" ? undefined : value;
}

function parseEntry(text: string): HistoryEntry | undefined {
  try {
    return historyEntrySchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
