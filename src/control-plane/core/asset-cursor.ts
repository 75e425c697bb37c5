import { isUuid } from "../../protocol/scalars.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "./cursor.ts";

/** Position in a list ordered by creation time, then UUID: the last asset already listed. */
export interface AssetCursor {
  /** Unix seconds. */
  readonly createdAt: number;
  readonly uuid: string;
}

const CURSOR = /^([0-9]{1,12}) (\S{36})$/;

/** Returns an opaque cursor for the position after this asset. */
export function encodeAssetCursor(position: AssetCursor): string {
  return encodeCursor(`${position.createdAt} ${position.uuid}`);
}

/** Decodes a cursor. Throws `InvalidRequest` for anything that `encodeAssetCursor` did not create. */
export function decodeAssetCursor(cursor: string): AssetCursor {
  const [, createdAt, uuid] = CURSOR.exec(decodeCursor(cursor)) ?? [];
  const position = createdAt && uuid && isUuid(uuid) ? { createdAt: Number(createdAt), uuid } : undefined;
  if (!position || encodeAssetCursor(position) !== cursor) throw invalidCursor();
  return position;
}
