import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { applyWal, WAL_HEADER_BYTES } from "./sqlite-wal.ts";

/** The writer checkpoints rarely: a second try is enough but for chance. */
const MAX_TRIES = 20;
const PAUSE_MS = 10;

// Format of the header: https://www.sqlite.org/fileformat2.html#the_database_header
const MAGIC = "SQLite format 3\0";
const DATABASE_HEADER_BYTES = 100;
const WRITE_VERSION = 18;
const READ_VERSION = 19;
const ROLLBACK_JOURNAL = 1;

/**
 * Opens a copy, in memory, of a database in WAL mode as its last commit left it. Takes no lock and changes no file, so that
 * it works while another process has the database open, in exclusive mode too, and while that process hangs. The copy can be
 * written, which has no effect on the file. Throws if the files cannot be read, or their writer leaves no moment to read them; a
 * file that is not a database shows with the first query.
 */
export function openSnapshot(path: string): DatabaseSync {
  const image = readSnapshot(path);
  const database = new DatabaseSync(":memory:");
  // SQLite has no WAL for a database in memory.
  if (image.toString("latin1", 0, MAGIC.length) === MAGIC && image.length >= DATABASE_HEADER_BYTES)
    image[WRITE_VERSION] = image[READ_VERSION] = ROLLBACK_JOURNAL;
  try {
    if (image.length > 0) database.deserialize(image);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Reads the database file, then the log. A checkpoint in between is harmless: what it has written into the database is in the
 * log too, which replaces those pages. Only once the log has begun anew is that not so. Then its header differs, or, if it
 * is empty before and after, the database does.
 */
function readSnapshot(path: string): Buffer {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const header = readWalHeader(path);
    const database = readFileSync(path);
    const wal = readIfPresent(`${path}-wal`);
    const isSameLog = wal.subarray(0, WAL_HEADER_BYTES).equals(header) && readWalHeader(path).equals(header);
    if (!isSameLog || (wal.length === 0 && !readFileSync(path).equals(database))) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
      continue;
    }
    return applyWal(database, wal);
  }
  throw new Error("the database is being written too often to be read; try it again");
}

/** Returns an empty buffer if there is no log: its process has ended, and moved it into the database. */
function readIfPresent(path: string): Buffer {
  return ifPresent(() => readFileSync(path));
}

function readWalHeader(path: string): Buffer {
  return ifPresent(() => {
    const file = openSync(`${path}-wal`, "r");
    try {
      const header = Buffer.alloc(WAL_HEADER_BYTES);
      return header.subarray(0, readSync(file, header));
    } finally {
      closeSync(file);
    }
  });
}

function ifPresent(read: () => Buffer): Buffer {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}
