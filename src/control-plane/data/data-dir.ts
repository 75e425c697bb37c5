import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";

/** Where things are in a data directory. */
export interface DataDir {
  /** The database file. SQLite keeps its log beside it. */
  readonly database: string;
  /** Held by the server that works on the directory. */
  readonly lock: string;
}

/** The places in a data directory, which is created if missing. Everything in it is for the server's own user. */
export function dataDir(path: string): DataDir {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  return { database: resolve(join(path, "edge-control.sqlite")), lock: join(path, "server.lock") };
}
