import type { AuditAction } from "../core/people/audit-actions.ts";
import type { AuditCursor } from "../core/cursor.ts";

/** Who acts: a user, an API key, the server's command line, a device, or the service itself. */
export type ActorKind = "user" | "key" | "command_line" | "device" | "service";

/** Who acts, with its name at that time: it may be renamed or removed later. */
export interface AuditActor {
  readonly kind: ActorKind;
  readonly id: string;
  readonly name?: string | undefined;
}

/** One entry of the audit log: who did what, from where, on what, and with which outcome. Never holds secrets. */
export interface AuditEntry {
  /** Empty if it is about no account, such as an attempt to sign in with an address that no user has. */
  readonly accountId: string;
  /** Unix seconds. */
  readonly at: number;
  readonly actor: AuditActor;
  /** Address the request came from; `undefined` if it is not known. */
  readonly source: string | undefined;
  readonly action: AuditAction;
  /** Empty if it is about no asset. */
  readonly assetUuid: string;
  /** Empty if it is about no app. */
  readonly app: string;
  /** What else it is about, with its name at that time. */
  readonly subject?: { readonly kind: string; readonly id: string; readonly name?: string | undefined } | undefined;
  /** `ok`, or the code of the error. */
  readonly outcome: string;
  /** Facts of the action, JSON-safe. Those that `AUDIT_ACTIONS` does not list are not stored. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Hash of the `Idempotency-Key` of the request, which is marked as carried out in the same transaction. Not stored here. */
  readonly idempotencyKeyHash?: Uint8Array | undefined;
}

/** An entry as it was stored, perhaps by another version, which knew other actions. */
export interface StoredAuditEntry extends Omit<AuditEntry, "action"> {
  readonly id: number;
  readonly action: string;
}

/** Criteria for a list of entries; `undefined` matches every entry. */
export interface AuditFilter {
  /** Id of the actor. */
  readonly actorId?: string | undefined;
  /** One of these; empty: none. */
  readonly actions?: readonly AuditAction[] | undefined;
  readonly assetUuid?: string | undefined;
  /** From then on, in Unix seconds. */
  readonly since?: number | undefined;
  /** Before then, in Unix seconds. */
  readonly until?: number | undefined;
  /** This outcome, or with `failed` any but `ok`. */
  readonly outcome?: string | undefined;
}

export interface AuditStore {
  /** Adds an entry about what changes nothing in the store. Returns its id. */
  addEntry(entry: AuditEntry): Promise<number>;
  /** Sets the count of an entry that stands for several attempts. */
  setCount(id: number, entry: AuditEntry, count: number): Promise<void>;
  /** Returns at most `limit` entries of an account, newest first. */
  listEntries(
    accountId: string,
    limit: number,
    filter?: AuditFilter,
    after?: AuditCursor,
  ): Promise<readonly StoredAuditEntry[]>;
  /** Removes at most `limit` entries from before this time (Unix seconds), oldest first. Returns how many were removed. */
  removeOld(before: number, limit: number): Promise<number>;
}
