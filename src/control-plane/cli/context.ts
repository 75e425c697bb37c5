import type { Command } from "commander";
import type { Clock } from "../../lib/clock.ts";
import type { Config } from "../config.ts";
import type { Store } from "../store/store.ts";

/** What the commands work with. */
export interface CliContext {
  /** Opens the store in a data directory, which is created if missing. Throws when it cannot be opened. */
  readonly openStore: (dataDir: string) => Store;
  /** Serves until the process is asked to stop. Throws when it cannot start. */
  readonly serve: (config: Config) => Promise<void>;
  /** Copies the database in a data directory into a file. Throws when it cannot. */
  readonly backup: (dataDir: string, file: string) => Promise<void>;
  /**
   * Puts a backup in the place of the database in a data directory. Answers where the replaced one is kept, or
   * `undefined` when there was none. Throws while a server works on the directory, and for a file that is no backup.
   */
  readonly restore: (dataDir: string, file: string) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly stdout: { write(text: string): unknown };
}

/** Adds one command, or a group of them, to the program. */
export type AddCommand = (program: Command, context: CliContext) => void;

/** The command cannot be carried out as it was asked for; the message says why and what to do. */
export class CommandError extends Error {
  override readonly name = "CommandError";
}
