import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
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
}

/**
 * Opens the agent's store in its state directory. A damaged file is set aside for 30 days and replaced by an empty one;
 * apps are then found again by the labels of their containers. Throws `StoreError` for any other error.
 */
export function openStore({ directory, logger, ...options }: OpenStoreOptions): OpenedStore {
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
    if (isEmpty(path)) rebuild.set();
    const removeExpired = (): boolean => removeExpiredQuarantine(path, options.clock.deletionTime());
    return {
      store: openSqliteStore({ ...options, path, reserve, onDamage, isDamaged }),
      rebuild,
      removeExpiredQuarantine: removeExpired,
    };
  };
  try {
    return open();
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== "damaged") throw error;
    if (isReadOnlyDisk(directory)) {
      onDamage("What there is");
      return open(true);
    }
    const quarantined = quarantineDatabase(path, options.clock.now());
    logger.error(
      { reason: error.message, kept_as: quarantined },
      "the agent's store is damaged, as after a failing disk; it was set aside and is rebuilt from the containers' labels",
    );
    return open();
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
