import type { AssetOrder } from "../../protocol/assets/asset-request.ts";
import { isUuid } from "../../protocol/values/scalars.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "./cursor.ts";

/** Position in a list ordered by a time, then UUID: the last asset already listed. */
export interface AssetCursor {
  /** Time of the order, in Unix seconds. */
  readonly at: number;
  readonly uuid: string;
}

const CURSOR = /^(\S{1,16}) ([0-9]{1,12}) (\S{36})$/;

/** Returns an opaque cursor for the position after this asset. */
export function encodeAssetCursor(order: AssetOrder, { at, uuid }: AssetCursor): string {
  return encodeCursor(`${order} ${at} ${uuid}`);
}

/** Decodes a cursor. Throws `InvalidRequest` for anything that `encodeAssetCursor` did not create for this order. */
export function decodeAssetCursor(order: AssetOrder, cursor: string): AssetCursor {
  const [, , at, uuid] = CURSOR.exec(decodeCursor(cursor)) ?? [];
  const position = at && uuid && isUuid(uuid) ? { at: Number(at), uuid } : undefined;
  if (!position || encodeAssetCursor(order, position) !== cursor) throw invalidCursor();
  return position;
}
