import type { EdgeError } from "../../protocol/errors.ts";
import { invalidRequest } from "../../protocol/request-error.ts";

/** Place in a list of deployments ordered by creation, newest first: the last one already seen. */
export interface DeploymentCursor {
  /** Unix milliseconds. */
  readonly createdAtMs: number;
  readonly id: string;
}

const CURSOR = /^([0-9]{1,15})\.(dep_[0-9a-f]{1,60})$/;

/** An opaque text that means "go on after this deployment". */
export function encodeDeploymentCursor({ createdAtMs, id }: DeploymentCursor): string {
  const bytes = Uint8Array.from(`${createdAtMs}.${id}`, (character) => character.charCodeAt(0));
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Reads a cursor back. Throws `InvalidRequest` for anything `encodeDeploymentCursor` did not make. */
export function decodeDeploymentCursor(cursor: string): DeploymentCursor {
  const [, createdAtMs, id] = CURSOR.exec(decode(cursor)) ?? [];
  if (createdAtMs === undefined || id === undefined) throw invalidCursor();
  return { createdAtMs: Number(createdAtMs), id };
}

function decode(cursor: string): string {
  try {
    return String.fromCharCode(...Uint8Array.fromBase64(cursor, { alphabet: "base64url" }));
  } catch {
    throw invalidCursor();
  }
}

function invalidCursor(): EdgeError {
  return invalidRequest([{ path: "cursor", reason: "is not a cursor of this list; start again without one" }]);
}
