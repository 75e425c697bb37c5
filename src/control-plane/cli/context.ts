import type { Command } from "commander";
import type { Clock } from "../../lib/clock.ts";
import type { Config } from "../config.ts";
import type { Store } from "../store/store.ts";

/** The services that commands use. */
export interface CliContext {
  /** Opens the store in a data directory. Throws on failure, and `CommandError` if there is no database in it. */
  readonly openStore: (dataDir: string) => Store;
  /** Serves until the process receives a signal to stop. Throws when it cannot start. */
  readonly serve: (config: Config) => Promise<void>;
  /** Copies the database in a data directory into a file. Throws as `openStore` does. */
  readonly backup: (dataDir: string, file: string) => Promise<void>;
  /**
   * Replaces the database in a data directory with a backup. Returns the path of the replaced database, or `undefined`
   * when there was none. Throws while a server uses the directory, and when the file is not a valid backup.
   *
   * @param isNamed whether the data directory was named. It is then created if missing; the default one is not.
   */
  readonly restore: (dataDir: string, file: string, isNamed: boolean) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly stdout: { write(text: string): unknown };
}

/** Adds one command, or a group of them, to the program. */
export type AddCommand = (program: Command, context: CliContext) => void;

/** A command cannot be carried out. The message says why and what to do. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}
