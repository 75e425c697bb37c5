import type { AuditEntry } from "../audit.ts";
import { auditValues } from "../sql/audit.ts";
import { AUDIT_COLUMNS } from "../sql/audit-list.ts";

/** The columns with their types, for `json_to_recordset`. */
export const AUDIT_ROW_TYPE = AUDIT_COLUMNS.map((name) => `${name} ${name === "at" ? "BIGINT" : "TEXT"}`).join(", ");

/** Returns an entry as a JSON object with the columns of its row. */
export function auditRow(entry: AuditEntry): Readonly<Record<string, unknown>> {
  const values = auditValues(entry);
  return Object.fromEntries(AUDIT_COLUMNS.map((name, index) => [name, values[index]]));
}
