import type { AlertSubjectKind } from "../../../protocol/alerts/condition.ts";
import type { AlertSubject } from "../../core/alerts/alert.ts";

/** What an alert is about, joined with its asset. */
export interface SubjectRow {
  readonly subject_kind: AlertSubjectKind;
  readonly subject_id: string;
  readonly subject_name: string;
  /** Of the asset; `null` if it is none, or was removed. */
  readonly type: string | null;
  readonly tags: string | null;
}

export function toSubject(row: SubjectRow): AlertSubject {
  const named = { kind: row.subject_kind, id: row.subject_id, name: row.subject_name };
  if (row.type === null) return named;
  const tags = new Map(Object.entries(JSON.parse(row.tags ?? "{}") as Record<string, string>));
  return { ...named, type: row.type, tags };
}
