import type { StatementSync } from "node:sqlite";
import { z } from "zod";
import { deploymentActionSchema } from "../../protocol/deployment-action.ts";
import { deploymentStepSchema, deploymentStatusSchema, type EventContent } from "../../protocol/deployment-event.ts";
import type { DeploymentRecord } from "../core/deployment/record.ts";

/** How many entries of each kind are kept; older ones make room. */
export const MAX_HISTORY_ENTRIES = 200;

/** How many more there may be before room is made, in one go: making it costs pages of the flash, too. */
export const MAX_HISTORY_EXCESS_ENTRIES = 50;

/** Longest text of `details` kept of one event, in characters: last log lines fit, and the file stays small. */
const MAX_DETAILS_LENGTH = 4_000;

const timedEventSchema = z.object({
  /** Left out on disk where it is `Running`, as of nearly every event: an entry is to fit into one page of the database. */
  status: deploymentStatusSchema.default("Running"),
  step: deploymentStepSchema,
  message: z.string(),
  code: z.string().exactOptional(),
  progress: z.number().exactOptional(),
  details: z.record(z.string(), z.unknown()).exactOptional(),
  /** Unix seconds by the device's clock; `null` where that is not known, as after a reboot in between. */
  at: z.int().nullable(),
});

const deploymentEntrySchema = z.object({
  kind: z.literal("deployment"),
  id: z.string(),
  /** Empty when the request was too broken to name one. */
  app: z.string(),
  /** Image reference, empty likewise. */
  image: z.string(),
  origin: z.enum(["control_plane", "local"]),
  action: deploymentActionSchema.default("deploy"),
  /** Nothing was to be changed. */
  dry_run: z.literal(true).exactOptional(),
  events: z.array(timedEventSchema),
});

const repairEntrySchema = z.object({
  kind: z.literal("repair"),
  app: z.string(),
  /** Unix seconds. */
  at: z.int(),
  /** Why something had to be done. */
  reason: z.string(),
  /** Why it did not help; absent when it did. */
  error: z.string().exactOptional(),
});

/** Something that happened to an app, for whoever asks later. */
export const historyEntrySchema = z.discriminatedUnion("kind", [deploymentEntrySchema, repairEntrySchema]);
export type HistoryEntry = z.output<typeof historyEntrySchema>;
export type DeploymentEntry = z.output<typeof deploymentEntrySchema>;
export type TimedEvent = z.output<typeof timedEventSchema>;

/** The entry of a deployment with the events it has so far. */
export function deploymentEntry(record: DeploymentRecord, events: readonly TimedEvent[]): DeploymentEntry {
  const { id, app, spec, origin, action, options } = record;
  const dryRun = options.dry_run ? { dry_run: true as const } : {};
  return { kind: "deployment", id, app, image: spec?.image ?? "", origin, action, ...dryRun, events: [...events] };
}

/** An event as the history keeps it. */
export function timedEvent(content: EventContent, at: number | null): TimedEvent {
  const { status, step, message, code, progress, details } = content;
  const isSmall = details === undefined || JSON.stringify(details).length <= MAX_DETAILS_LENGTH;
  return {
    status,
    step,
    message,
    at,
    ...(code !== undefined && { code }),
    ...(progress !== undefined && { progress }),
    ...(details !== undefined && isSmall && { details }),
  };
}

/** The table of what happened. One row for a whole deployment, written once, when it has ended: flash wears. */
export class HistoryTable {
  readonly #sql: (text: string) => StatementSync;

  constructor(sql: (text: string) => StatementSync) {
    this.#sql = sql;
  }

  /** Adds an entry; a deployment that ended before, and was undone, is replaced. To be called in a transaction. */
  add(entry: HistoryEntry): void {
    const id = entry.kind === "deployment" ? entry.id : null;
    if (id !== null) this.#sql("DELETE FROM history WHERE deployment_id = ?").run(id);
    this.#sql("INSERT INTO history (kind, deployment_id, entry) VALUES (?, ?, ?)").run(
      entry.kind,
      id,
      JSON.stringify(entry, leaveOutRunning),
    );
    this.#sql(
      `DELETE FROM history WHERE kind = ?1
         AND position <= (SELECT position FROM history WHERE kind = ?1 ORDER BY position DESC LIMIT 1 OFFSET ${MAX_HISTORY_ENTRIES})
         AND (SELECT count(*) FROM history WHERE kind = ?1) > ${MAX_HISTORY_ENTRIES + MAX_HISTORY_EXCESS_ENTRIES}`,
    ).run(entry.kind);
  }

  /** How the deployment ended; `undefined` where that is not, or no longer, known. */
  endOf(deploymentId: string): "Success" | "Fail" | undefined {
    const row = this.#sql("SELECT entry FROM history WHERE deployment_id = ?").get(deploymentId);
    const entry = row && parseEntry(String(row["entry"]));
    const status = entry?.kind === "deployment" ? entry.events.at(-1)?.status : undefined;
    return status === "Running" ? undefined : status;
  }

  /** The last `limit` entries, oldest first. Rows that cannot be read are left out. */
  last(limit: number): HistoryEntry[] {
    const rows = this.#sql("SELECT entry FROM history ORDER BY position DESC LIMIT ?").all(limit);
    return rows.toReversed().flatMap((row) => parseEntry(String(row["entry"])) ?? []);
  }
}

function leaveOutRunning(key: string, value: unknown): unknown {
  return key === "status" && value === "Running" ? undefined : value;
}

function parseEntry(text: string): HistoryEntry | undefined {
  try {
    return historyEntrySchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
