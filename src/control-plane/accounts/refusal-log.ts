import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { COUNTED_TOGETHER_S } from "../core/people/audit-actions.ts";
import { sourceOf } from "../core/people/source.ts";
import type { AuditEntry, AuditStore } from "../store/audit.ts";
import { logStoreError } from "../store/unavailable.ts";

/** Kinds of attempts whose counts are in memory. Beyond it the oldest is counted anew with its next attempt. */
const MAX_COUNTED = 10_000;
/** How often the count of repeated attempts is stored. */
const STORE_COUNT_MS = 5_000;

interface Counted {
  readonly key: string;
  readonly entry: AuditEntry;
  /** `undefined` if the entry could not be stored. */
  readonly id: Promise<number | undefined>;
  count: number;
  timer: Disposable | undefined;
}

export interface RefusalLogOptions {
  readonly audit: Pick<AuditStore, "addEntry" | "setCount">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Writes refused attempts to the audit log, in transactions of their own. Repetitions by the same actor from the same source
 * within `COUNTED_TOGETHER_S` are one entry with a count, so that any number of attempts writes few rows. A failure of the
 * store is logged: the attempt is refused all the same.
 */
export class RefusalLog implements AsyncDisposable {
  readonly #options: RefusalLogOptions;
  readonly #counted = new Map<string, Counted>();

  constructor(options: RefusalLogOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the first attempt of its kind is stored; the counts of the others follow within seconds. Never rejects.
   */
  async record(entry: AuditEntry): Promise<void> {
    const key = keyOf(entry);
    const known = this.#counted.get(key);
    if (known && entry.at - known.entry.at < COUNTED_TOGETHER_S) {
      known.count++;
      known.timer ??= this.#options.clock.timer(STORE_COUNT_MS, () => void this.#storeCount(known));
      return;
    }
    if (known) await this.#forget(known);
    this.#makeRoom();
    const counted: Counted = { key, entry, id: this.#add(entry), count: 1, timer: undefined };
    this.#counted.set(key, counted);
    if ((await counted.id) === undefined && this.#counted.get(key) === counted) this.#counted.delete(key);
  }

  /** Stores the counts, and waits for what is being stored. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const counted of this.#counted.values()) {
      await counted.id;
      await this.#forget(counted);
    }
  }

  async #add(entry: AuditEntry): Promise<number | undefined> {
    try {
      return await this.#options.audit.addEntry(entry);
    } catch (error) {
      this.#warn(error, entry);
      return undefined;
    }
  }

  #makeRoom(): void {
    const [oldest] = this.#counted.size >= MAX_COUNTED ? this.#counted.values() : [];
    if (oldest) void this.#forget(oldest);
  }

  async #forget(counted: Counted): Promise<void> {
    if (this.#counted.get(counted.key) === counted) this.#counted.delete(counted.key);
    if (counted.timer) await this.#storeCount(counted);
  }

  async #storeCount(counted: Counted): Promise<void> {
    counted.timer?.[Symbol.dispose]();
    counted.timer = undefined;
    const id = await counted.id;
    if (id === undefined) return;
    try {
      await this.#options.audit.setCount(id, counted.entry, counted.count);
    } catch (error) {
      this.#warn(error, counted.entry);
    }
  }

  #warn(error: unknown, { action, outcome }: AuditEntry): void {
    logStoreError(this.#options.logger, error, { action, outcome }, "cannot write a refusal to the audit log");
  }
}

function keyOf({ accountId, actor, source, action, assetUuid, app, outcome, subject }: AuditEntry): string {
  const from = source === undefined ? "" : sourceOf(source);
  return JSON.stringify([accountId, actor.kind, actor.id, from, action, assetUuid, app, outcome, subject?.id]);
}
