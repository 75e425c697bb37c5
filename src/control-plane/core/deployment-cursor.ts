import { decodeCursor, encodeCursor, invalidCursor } from "./cursor.ts";

/** Position in a list of deployments, newest first: the last one already listed. */
export interface DeploymentCursor {
  /** Unix milliseconds. */
  readonly createdAtMs: number;
  readonly id: string;
}

/** Before every deployment of a list. */
export const FIRST_DEPLOYMENT_PAGE: DeploymentCursor = { createdAtMs: Number.MAX_SAFE_INTEGER, id: "" };

const CURSOR = /^([0-9]{1,15})\.(dep_[0-9a-f]{1,60})$/;

/** Returns an opaque cursor for the position after this deployment. */
export function encodeDeploymentCursor({ createdAtMs, id }: DeploymentCursor): string {
  return encodeCursor(`${createdAtMs}.${id}`);
}

/** Decodes a cursor. Throws `InvalidRequest` for anything that `encodeDeploymentCursor` did not create. */
export function decodeDeploymentCursor(cursor: string): DeploymentCursor {
  const [, createdAtMs, id] = CURSOR.exec(decodeCursor(cursor)) ?? [];
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

const LIST_CURSOR = /^(created|changed) ([0-9]{1,15}) (dep_[0-9a-f]{1,60})$/;

export function encodeDeploymentListCursor(order: DeploymentOrder, { atMs, id }: DeploymentListCursor): string {
  return encodeCursor(`${order} ${atMs} ${id}`);
}

/** Error: `InvalidRequest` for a cursor of another order, or of another list. */
export function decodeDeploymentListCursor(order: DeploymentOrder, cursor: string): DeploymentListCursor {
  const [, ofOrder, atMs, id] = LIST_CURSOR.exec(decodeCursor(cursor)) ?? [];
  if (ofOrder !== order || id === undefined) throw invalidCursor();
  return { atMs: Number(atMs), id };
}
