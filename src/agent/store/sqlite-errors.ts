import { errorText } from "../../lib/error-text.ts";
import { ForeignSchemaError } from "../../lib/sqlite.ts";
import { StoreError, type StoreErrorKind } from "./store.ts";

/** Returns what the work returns; its errors become `StoreError`s. */
export function withStoreErrors<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const reason = errorText(error);
    const kind = what === "open" && isUnusable(error) ? "damaged" : kindOf(error);
    throw new StoreError(kind, `the agent's store could not be used (${what}): ${reason}`, { cause: error });
  }
}

// Result codes of SQLite: https://www.sqlite.org/rescode.html
const SQLITE_ERROR = 1;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;

function codeOf(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
}

/** Whether what was opened has other tables than this version's: it would never start, and no service would reach the device. */
function isUnusable(error: unknown): boolean {
  return error instanceof ForeignSchemaError || codeOf(error) === SQLITE_ERROR;
}

function kindOf(error: unknown): StoreErrorKind {
  const code = codeOf(error);
  if (code === SQLITE_CORRUPT || code === SQLITE_NOTADB) return "damaged";
  return code === SQLITE_FULL ? "full" : "other";
}
