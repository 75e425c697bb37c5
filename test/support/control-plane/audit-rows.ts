import { DatabaseSync } from "node:sqlite";
import type { ControlPlane } from "../control-plane.ts";

/** A row of the audit log. */
export interface AuditRow {
  readonly action: string;
  readonly actor_kind: string;
  readonly outcome: string;
  readonly source: string | null;
}

/** Every row of the audit log. */
export function auditRowsOf(control: ControlPlane): AuditRow[] {
  using database = new DatabaseSync(control.databasePath, { readOnly: true });
  return database.prepare("SELECT * FROM audit ORDER BY id").all() as unknown as AuditRow[];
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

/** Calls the API with these headers. */
export async function call(
  control: ControlPlane,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
): Promise<Reply> {
  const response = await fetch(control.url + path, {
    method,
    headers: { ...(body !== undefined && { "Content-Type": "application/json" }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
  const { status, headers: received } = response;
  return { status, headers: received, body: isJson ? (JSON.parse(text) as Record<string, unknown>) : { text } };
}
