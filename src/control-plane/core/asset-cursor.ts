import { isUuid } from "../../protocol/scalars.ts";
import type { EdgeError } from "../../protocol/errors.ts";
import { invalidRequest } from "../../protocol/request-error.ts";

/** Position in a list ordered by creation time, then UUID: the last asset already listed. */
export interface AssetCursor {
  /** Unix seconds. */
  readonly createdAt: number;
  readonly uuid: string;
}

const CURSOR = /^([0-9]{1,12}) (\S{36})$/;

/** Returns an opaque cursor for the position after this asset. */
export function encodeAssetCursor(position: AssetCursor): string {
  const bytes = Uint8Array.from(`${position.createdAt} ${position.uuid}`, (character) => character.charCodeAt(0));
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Decodes a cursor. Throws `InvalidRequest` for anything that `encodeAssetCursor` did not create. */
export function decodeAssetCursor(cursor: string): AssetCursor {
  const [, createdAt, uuid] = CURSOR.exec(decodeText(cursor)) ?? [];
  const position = createdAt && uuid && isUuid(uuid) ? { createdAt: Number(createdAt), uuid } : undefined;
  if (!position || encodeAssetCursor(position) !== cursor) throw invalidCursor();
  return position;
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
