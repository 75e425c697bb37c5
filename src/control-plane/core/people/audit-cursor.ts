import { decodeCursor, encodeCursor, invalidCursor } from "../cursor.ts";

/** Position in a list of entries, newest first: the last one already listed. */
export interface AuditCursor {
  /** Unix seconds. */
  readonly at: number;
  readonly id: number;
}

const CURSOR = /^([0-9]{1,12}) ([0-9]{1,15})$/;

/** Returns an opaque cursor for the position after this entry. */
export function encodeAuditCursor({ at, id }: AuditCursor): string {
  return encodeCursor(`${at} ${id}`);
}

/** Decodes a cursor. Throws `InvalidRequest` for anything that `encodeAuditCursor` did not create. */
export function decodeAuditCursor(cursor: string): AuditCursor {
  const [, at, id] = CURSOR.exec(decodeCursor(cursor)) ?? [];
  const position = at && id ? { at: Number(at), id: Number(id) } : undefined;
  if (!position || encodeAuditCursor(position) !== cursor) throw invalidCursor();
  return position;
}
