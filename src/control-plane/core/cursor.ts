import type { AssetOrder } from "../../protocol/assets/asset-request.ts";
import type { EdgeError } from "../../protocol/errors/errors.ts";
import { invalidRequest } from "../../protocol/errors/request-error.ts";
import { isUuid } from "../../protocol/values/scalars.ts";

const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;

/** Returns an opaque cursor that holds an ASCII text. */
export function encodeCursor(text: string): string {
  return Uint8Array.from(text, (character) => character.charCodeAt(0)).toBase64(BASE64URL);
}

/** Returns the text in a cursor. Throws `InvalidRequest` for anything that is not base64url. */
export function decodeCursor(cursor: string): string {
  try {
    return String.fromCharCode(...Uint8Array.fromBase64(cursor, BASE64URL));
  } catch {
    throw invalidCursor();
  }
}

export function invalidCursor(): EdgeError {
  return invalidRequest([{ path: "cursor", reason: "is not a cursor of this list; start again without one" }]);
}

/** Position in a list ordered by a time, then UUID: the last asset already listed. */
export interface AssetCursor {
  /** Time of the order, in Unix seconds. */
  readonly at: number;
  readonly uuid: string;
}

const ASSET_CURSOR = /^(\S{1,16}) ([0-9]{1,12}) (\S{36})$/;

/** Returns an opaque cursor for the position after this asset. */
export function encodeAssetCursor(order: AssetOrder, { at, uuid }: AssetCursor): string {
  return encodeCursor(`${order} ${at} ${uuid}`);
}

/** Decodes a cursor. Throws `InvalidRequest` for anything that `encodeAssetCursor` did not create for this order. */
export function decodeAssetCursor(order: AssetOrder, cursor: string): AssetCursor {
  const [, , at, uuid] = ASSET_CURSOR.exec(decodeCursor(cursor)) ?? [];
  const position = at && uuid && isUuid(uuid) ? { at: Number(at), uuid } : undefined;
  if (!position || encodeAssetCursor(order, position) !== cursor) throw invalidCursor();
  return position;
}

/** Position in a list of deployments, newest first: the last one already listed. */
export interface DeploymentCursor {
  /** Unix milliseconds. */
  readonly createdAtMs: number;
  readonly id: string;
}

/** Before every deployment of a list. */
export const FIRST_DEPLOYMENT_PAGE: DeploymentCursor = { createdAtMs: Number.MAX_SAFE_INTEGER, id: "" };

const DEPLOYMENT_CURSOR = /^([0-9]{1,15})\.(dep_[0-9a-f]{1,60})$/;

/** Returns an opaque cursor for the position after this deployment. */
export function encodeDeploymentCursor({ createdAtMs, id }: DeploymentCursor): string {
  return encodeCursor(`${createdAtMs}.${id}`);
}

/** Decodes a cursor. Throws `InvalidRequest` for anything that `encodeDeploymentCursor` did not create. */
export function decodeDeploymentCursor(cursor: string): DeploymentCursor {
  const [, createdAtMs, id] = DEPLOYMENT_CURSOR.exec(decodeCursor(cursor)) ?? [];
  if (createdAtMs === undefined || id === undefined) throw invalidCursor();
  return { createdAtMs: Number(createdAtMs), id };
}

/** The orders of the deployments of an account: by request, newest first, or by request or end, the oldest change first. */
export type DeploymentOrder = "created" | "changed";

/** Position in a list of the deployments of an account: the last one that was looked at. */
export interface DeploymentListCursor {
  /** Time of the order, in Unix milliseconds. */
  readonly atMs: number;
  readonly id: string;
}

const DEPLOYMENT_LIST_CURSOR = /^(created|changed) ([0-9]{1,15}) (dep_[0-9a-f]{1,60})$/;

export function encodeDeploymentListCursor(order: DeploymentOrder, { atMs, id }: DeploymentListCursor): string {
  return encodeCursor(`${order} ${atMs} ${id}`);
}

/** Error: `InvalidRequest` for a cursor of another order, or of another list. */
export function decodeDeploymentListCursor(order: DeploymentOrder, cursor: string): DeploymentListCursor {
  const [, ofOrder, atMs, id] = DEPLOYMENT_LIST_CURSOR.exec(decodeCursor(cursor)) ?? [];
  if (ofOrder !== order || id === undefined) throw invalidCursor();
  return { atMs: Number(atMs), id };
}

/** Position in a list of entries of the audit log, newest first: the last one already listed. */
export interface AuditCursor {
  /** Unix seconds. */
  readonly at: number;
  readonly id: number;
}

const AUDIT_CURSOR = /^([0-9]{1,12}) ([0-9]{1,15})$/;

/** Returns an opaque cursor for the position after this entry. */
export function encodeAuditCursor({ at, id }: AuditCursor): string {
  return encodeCursor(`${at} ${id}`);
}

/** Decodes a cursor. Throws `InvalidRequest` for anything that `encodeAuditCursor` did not create. */
export function decodeAuditCursor(cursor: string): AuditCursor {
  const [, at, id] = AUDIT_CURSOR.exec(decodeCursor(cursor)) ?? [];
  const position = at && id ? { at: Number(at), id: Number(id) } : undefined;
  if (!position || encodeAuditCursor(position) !== cursor) throw invalidCursor();
  return position;
}
