/** One entry of the audit log: who did what, from where, on what, and with which outcome. Never holds secrets. */
export interface AuditEntry {
  readonly accountId: string;
  /** Unix seconds. */
  readonly at: number;
  readonly actor: { readonly kind: "key"; readonly id: string };
  /** Address the request came from; `undefined` if it is not known. */
  readonly source: string | undefined;
  /** Such as `remote_access.opened`. */
  readonly action: string;
  readonly assetUuid: string;
  readonly app: string;
  /** `ok`, or the code of the error. */
  readonly outcome: string;
  /** Facts of the action, JSON-safe. */
  readonly details: Readonly<Record<string, unknown>>;
}

export interface AuditStore {
  /** Adds an entry, and removes those that are older than they are kept. */
  addEntry(entry: AuditEntry): Promise<void>;
  /** Returns the latest entries of an account, newest first. */
  listEntries(accountId: string, limit: number): Promise<readonly AuditEntry[]>;
}
