import { accessSync, constants, existsSync, lstatSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { isReadOnlyDisk } from "../../lib/read-only-disk.ts";
import { removeExpiredQuarantine, quarantineDatabase } from "./quarantine.ts";
import { DiskReserve } from "./disk-reserve.ts";
import { openSqliteStore } from "./sqlite-store.ts";
import { type AgentStore, StoreError } from "./store.ts";

export interface OpenedStore {
  readonly store: AgentStore;
  /** Set while the store may lack apps that exist. */
  readonly rebuild: RebuildMarker;
  /** Removes a damaged store that was set aside more than 30 days ago. Returns whether there was one. */
  readonly removeExpiredQuarantine: () => boolean;
}

export interface OpenStoreOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Id of the current boot. */
  readonly bootId: string;
  /** Set while this version is on trial. */
  readonly trial?: StoreOnTrial | undefined;
  /** Default: those of this version. */
  readonly migrations?: readonly string[] | undefined;
}

export interface StoreOnTrial {
  /** Whether the version before, or an earlier start, has had a store. */
  readonly hadStore: boolean;
}

/**
 * Opens the agent's store in its state directory. A damaged one, or one that this version cannot use, is set aside for 30 days and
 * replaced by an empty one; apps are then found again by the labels of their containers. Not by a version on trial: the one before
 * may be able to use it, and does this otherwise. Throws `StoreError` then, and for any other error.
 */
export function openStore({ directory, logger, trial, ...options }: OpenStoreOptions): OpenedStore {
  const path = join(directory, "agent.db");
  const rebuild = new RebuildMarker(join(directory, "rebuild"));
  const reserve = new DiskReserve(join(directory, "reserve"));
  const onDamage = (what: string): void => {
    logger.error(
      { path },
      `${what} in the agent's store cannot be read and is left out; apps are found again by their containers. If it comes back, the disk is failing`,
    );
    rebuild.set();
  };
  const open = (isDamaged = false): OpenedStore => {
    // Set first: a crash in between must not leave an empty store without the marker.
    if (isEmpty(path)) {
      if (trial?.hadStore) throw new StoreError("damaged", "the agent's store is gone");
      rebuild.set();
    }
    const removeExpired = (): boolean => removeExpiredQuarantine(path, options.clock.deletionTime());
    return {
      store: openSqliteStore({ ...options, path, reserve, onDamage, isDamaged, isOnTrial: trial !== undefined }),
      rebuild,
      removeExpiredQuarantine: removeExpired,
    };
  };
  try {
    requireOwnFile(path);
    return open();
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== "damaged") throw error;
    if (trial) throw new StoreError("damaged", `${error.message}; this version is on trial, and leaves it as it is`);
    if (isReadOnlyDisk(directory)) {
      onDamage("What there is");
      return open(true);
    }
    const quarantined = quarantineDatabase(path, options.clock.now());
    logger.error(
      { reason: error.message, kept_as: quarantined },
      "the agent's store cannot be used, as after a failing disk or a newer version; it was set aside and is rebuilt from the containers' labels",
    );
    return open();
  }
}

/**
 * Throws a `StoreError` if what has the database's name is none that this user can open: no file, or one of this user without
 * permissions, as an earlier version may leave. One of another user is a person's doing: the content is good, and `doctor` says
 * what to do.
 */
function requireOwnFile(path: string): void {
  try {
    const facts = statSync(path, { throwIfNoEntry: false });
    if (facts?.isFile() === false || (!facts && lstatSync(path, { throwIfNoEntry: false })))
      throw new StoreError("damaged", "the agent's store is no file");
    if (facts?.uid !== process.getuid?.()) return;
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (error instanceof StoreError) throw error;
    if (code === "EACCES" || code === "ELOOP")
      throw new StoreError("damaged", `the agent's store cannot be opened (${code})`, { cause: error });
    // Missing, or an error of the disk, which opening it names.
  }
}

/** Whether there is no database: no file, or one without content, as a power cut may leave. */
function isEmpty(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** Records across restarts that the store may lack apps, until they have been read from the engine. */
class RebuildMarker {
  readonly #path: string;
  /** Set, and not on the disk: it is read-only. */
  #isUnwritten = false;

  /** @param path of the file whose presence is the marker */
  constructor(path: string) {
    this.#path = path;
  }

  get isSet(): boolean {
    return this.#isUnwritten || existsSync(this.#path);
  }

  set(): void {
    try {
      writeFileSync(this.#path, "", { mode: 0o600 });
      this.#isUnwritten = false;
    } catch (error) {
      if (!isReadOnlyDisk(dirname(this.#path))) throw error;
      this.#isUnwritten = true;
    }
  }

  clear(): void {
    rmSync(this.#path, { force: true });
    this.#isUnwritten = false;
  }
}
