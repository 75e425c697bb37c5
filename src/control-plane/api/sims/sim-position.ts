import { isUuid } from "../../../protocol/values/scalars.ts";
import { simTypeSchema } from "../../../protocol/assets/sim.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "../../core/cursor.ts";
import type { SimEntry, SimPosition } from "../../store/sims.ts";

const CURSOR = /^([0-9]{1,12}) (\S{36}) ([a-z]{1,16})$/;

/** Returns an opaque cursor for the position after this SIM. */
export function simCursorOf({ asset: { createdAt, uuid }, type }: Pick<SimEntry, "asset" | "type">): string {
  return encodeCursor(`${createdAt} ${uuid} ${type}`);
}

/** Error: `InvalidRequest` for anything that `simCursorOf` did not create. */
export function simPositionOf(cursor: string): SimPosition {
  const [, createdAt, assetUuid = "", type] = CURSOR.exec(decodeCursor(cursor)) ?? [];
  const parsed = simTypeSchema.safeParse(type);
  if (!parsed.success || !isUuid(assetUuid)) throw invalidCursor();
  return { createdAt: Number(createdAt), assetUuid, type: parsed.data };
}
