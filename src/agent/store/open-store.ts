import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { removeExpiredQuarantine, quarantineDatabase } from "./quarantine.ts";
import { DiskReserve } from "./disk-reserve.ts";
import { openSqliteStore } from "./sqlite-store.ts";
import { type AgentStore, StoreError } from "./store.ts";

export interface OpenedStore {
  readonly store: AgentStore;
  /** Set while the store may not know every app there is. */
  readonly rebuild: RebuildMarker;
  /** Removes a damaged store that was set aside 30 days ago. Answers whether there was one. */
  readonly removeExpiredQuarantine: () => boolean;
}

export interface OpenStoreOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Identity of this boot of the machine. */
  readonly bootId: string;
}

/**
 * Opens the agent's store in its state directory. A damaged file is set aside for 30 days, for whoever wants to look into
 * it, and a fresh one begun: what runs is then found again by the labels of its containers. Throws `StoreError` for anything
 * else that stands in the way.
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
  const open = (): OpenedStore => {
    // Marked first: a crash in between must not leave a fresh store that nobody knows to be one.
    if (!existsSync(path)) rebuild.set();
    const removeOldCopies = (): boolean => removeExpiredQuarantine(path, options.clock.now());
    return {
      store: openSqliteStore({ ...options, path, reserve, onDamage }),
      rebuild,
      removeExpiredQuarantine: removeOldCopies,
    };
  };
  try {
    return open();
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== "damaged") throw error;
    const aside = quarantineDatabase(path, options.clock.now());
    logger.error(
      { reason: error.message, kept_as: aside },
      "the agent's store is damaged, as after a failing disk; it was set aside and is rebuilt from the containers' labels",
    );
    return open();
  }
}

/** Remembers over restarts that the store knows less than the engine does, until the apps have been read off it. */
class RebuildMarker {
  readonly #path: string;

  /** @param path of the file whose presence is the mark */
  constructor(path: string) {
    this.#path = path;
  }

  get isSet(): boolean {
    return existsSync(this.#path);
  }

  set(): void {
    writeFileSync(this.#path, "", { mode: 0o600 });
  }

  clear(): void {
    rmSync(this.#path, { force: true });
  }
}
