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
