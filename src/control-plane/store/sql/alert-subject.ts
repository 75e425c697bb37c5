import type { AlertSubjectKind } from "../../../protocol/alerts/condition.ts";
import type { AlertSubject } from "../../core/alerts/alert.ts";
import type { Dialect } from "./dialect.ts";
import type { Executor } from "./executor.ts";

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

const listSql = ({ jsonObject }: Dialect): string => /* sql */ `
  SELECT 'asset' AS subject_kind, a.uuid AS subject_id, a.name AS subject_name, a.type,
    (SELECT ${jsonObject("g.key", "g.value")} FROM asset_tags g WHERE g.asset_uuid = a.uuid) AS tags
  FROM asset_states t JOIN assets a ON a.uuid = t.asset_uuid
  WHERE t.account_id = ?1 AND t.instance_id = ?2 AND t.asset_uuid > ?3
  ORDER BY t.asset_uuid LIMIT ?4`;

/** As `AlertStore.listConnected`. */
export async function listConnected(
  executor: Executor,
  accountId: string,
  instanceId: string,
  after: string,
  limit: number,
): Promise<readonly AlertSubject[]> {
  const rows = await executor.all<SubjectRow>(listSql(executor.dialect), [accountId, instanceId, after, limit]);
  return rows.map(toSubject);
}
