import { readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { moveIntoPlace } from "./durable-file.ts";

/** Says that a data directory is being copied, or was copied, to another database. */
export interface CopiedMark {
  /** Chosen with the first attempt. The target carries it too. */
  readonly copyId: string;
  /** For people. */
  readonly target: string;
  readonly isComplete: boolean;
}

const pathOf = (database: string): string => `${database}.copied`;

/** Returns the mark beside a database file; `undefined` if it has none. */
export function readCopiedMark(database: string): CopiedMark | undefined {
  try {
    return JSON.parse(readFileSync(pathOf(database), "utf8")) as CopiedMark;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Stores the mark, on disk when this resolves. */
export async function writeCopiedMark(database: string, mark: CopiedMark): Promise<void> {
  const path = pathOf(database);
  const unfinished = `${path}.unfinished`;
  writeFileSync(unfinished, `${JSON.stringify(mark)}\n`, { mode: 0o600 });
  await moveIntoPlace(unfinished, path);
}

/** From now on the directory is an original again: a copy of it begins anew, into another database. */
export async function removeCopiedMark(database: string): Promise<void> {
  await rm(pathOf(database), { force: true });
}
