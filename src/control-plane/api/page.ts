import { DEFAULT_PAGE_SIZE } from "../../protocol/limits.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "../core/cursor.ts";

interface Listed {
  /** Unix seconds. */
  readonly createdAt: number;
  readonly id: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

const CURSOR = /^([0-9]{1,12}) (\S{1,64})$/;

/**
 * Returns one page of a list that is bounded, ordered by creation time and id. Error: `InvalidRequest` for a cursor of
 * another list.
 */
export function pageOf<T extends Listed>(
  all: readonly T[],
  { limit = DEFAULT_PAGE_SIZE, cursor }: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
): Page<T> {
  const after = cursor === undefined ? undefined : decode(cursor);
  const rest = after ? all.filter((item) => isAfter(item, after)) : all;
  const items = rest.slice(0, limit);
  const last = rest.length > limit ? items.at(-1) : undefined;
  return { items, nextCursor: last ? encodeCursor(`${last.createdAt} ${last.id}`) : null };
}

function decode(cursor: string): Listed {
  const [, createdAt, id] = CURSOR.exec(decodeCursor(cursor)) ?? [];
  if (createdAt === undefined || id === undefined) throw invalidCursor();
  return { createdAt: Number(createdAt), id };
}

function isAfter(item: Listed, position: Listed): boolean {
  return item.createdAt > position.createdAt || (item.createdAt === position.createdAt && item.id > position.id);
}
