import type { EdgeError } from "../../protocol/errors.ts";
import { invalidRequest } from "../../protocol/request-error.ts";

/** Position in a list of deployments, newest first: the last one already listed. */
export interface DeploymentCursor {
  /** Unix milliseconds. */
  readonly createdAtMs: number;
  readonly id: string;
}

const CURSOR = /^([0-9]{1,15})\.(dep_[0-9a-f]{1,60})$/;

/** Returns an opaque cursor for the position after this deployment. */
export function encodeDeploymentCursor({ createdAtMs, id }: DeploymentCursor): string {
  const bytes = Uint8Array.from(`${createdAtMs}.${id}`, (character) => character.charCodeAt(0));
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Decodes a cursor. Throws `InvalidRequest` for anything that `encodeDeploymentCursor` did not create. */
export function decodeDeploymentCursor(cursor: string): DeploymentCursor {
  const [, createdAtMs, id] = CURSOR.exec(decodeText(cursor)) ?? [];
  if (createdAtMs === undefined || id === undefined) throw invalidCursor();
  return { createdAtMs: Number(createdAtMs), id };
}

function decodeText(cursor: string): string {
  try {
    return String.fromCharCode(...Uint8Array.fromBase64(cursor, { alphabet: "base64url" }));
  } catch {
    throw invalidCursor();
  }
}

function invalidCursor(): EdgeError {
  return invalidRequest([{ path: "cursor", reason: "is not a cursor of this list; start again without one" }]);
}
