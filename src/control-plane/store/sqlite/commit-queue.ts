import type { DatabaseSync } from "node:sqlite";
import { prepare, transaction, unsyncedTransaction } from "../../../lib/sqlite.ts";

/** Maximum number of operations in one transaction, and its maximum duration without the commit, in milliseconds. */
const MAX_OPERATIONS = 256;
const MAX_TRANSACTION_MS = 8;

interface Operation {
  /** Does the work, and returns what settles the operation once it is committed. */
  readonly execute: () => () => void;
  readonly reject: (error: unknown) => void;
  readonly mustSync: boolean;
}

/**
 * Group commit: operations that arrive in one turn of the event loop share a transaction, and so one sync of the disk. No
 * operation is settled before that transaction is committed. A transaction runs without a pause, so that reads outside of it
 * see committed data only.
 */
export class CommitQueue implements Disposable {
  readonly #database: DatabaseSync;
  readonly #savepoint;
  readonly #release;
  readonly #rollback;
  #waiting: Operation[] = [];
  #isScheduled = false;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#savepoint = prepare(database, "SAVEPOINT operation");
    this.#release = prepare(database, "RELEASE operation");
    this.#rollback = prepare(database, "ROLLBACK TO operation");
  }

  /**
   * Runs `work` in a transaction, possibly with other operations. Resolves to its result when that is on disk. If `work`
   * throws, only its own changes are undone. If the transaction fails, all of its operations reject.
   */
  run<T>(work: () => T): Promise<T> {
    return this.#add(work, true);
  }

  /** The same for what costs no sync by itself: see `unsyncedTransaction`. */
  runUnsynced<T>(work: () => T): Promise<T> {
    return this.#add(work, false);
  }

  /** Commits what waits. */
  [Symbol.dispose](): void {
    while (this.#waiting.length > 0) this.#commit();
  }

  #add<T>(work: () => T, mustSync: boolean): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const execute = (): (() => void) => {
      const result = work();
      return () => resolve(result);
    };
    this.#waiting.push({ execute, reject, mustSync });
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#commit();
      this.#schedule();
    });
  }

  #commit(): void {
    if (this.#waiting.length === 0) return;
    const batch = this.#waiting.splice(0, MAX_OPERATIONS);
    const inTransaction = batch.some(({ mustSync }) => mustSync) ? transaction : unsyncedTransaction;
    let settlements: readonly (() => void)[];
    try {
      settlements = inTransaction(this.#database, () => this.#execute(batch));
    } catch (error) {
      for (const { reject } of batch) reject(error);
      return;
    }
    this.#waiting.unshift(...batch.slice(settlements.length));
    for (const settle of settlements) settle();
  }

  /** Executes at least the first operation, and those after it for which there is time. */
  #execute(batch: readonly Operation[]): (() => void)[] {
    const endMs = performance.now() + MAX_TRANSACTION_MS;
    const settlements: (() => void)[] = [];
    for (const operation of batch) {
      settlements.push(this.#executeOne(operation));
      if (performance.now() >= endMs) break;
    }
    return settlements;
  }

  #executeOne({ execute, reject }: Operation): () => void {
    this.#savepoint.run();
    try {
      return execute();
    } catch (error) {
      // Some errors, such as that of a full disk, end the whole transaction.
      if (!this.#database.isTransaction) throw error;
      this.#rollback.run();
      return () => reject(error);
    } finally {
      if (this.#database.isTransaction) this.#release.run();
    }
  }
}
