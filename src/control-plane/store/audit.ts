/** Who acts: a user, an API key, the server's command line, a device, or the service itself. */
type ActorKind = "user" | "key" | "command_line" | "device" | "service";

/** One entry of the audit log: who did what, from where, on what, and with which outcome. Never holds secrets. */
export interface AuditEntry {
  readonly accountId: string;
  /** Unix seconds. */
  readonly at: number;
  /** With its name at that time: it may be renamed or removed later. */
  readonly actor: { readonly kind: ActorKind; readonly id: string; readonly name?: string | undefined };
  /** Address the request came from; `undefined` if it is not known. */
  readonly source: string | undefined;
  /** Such as `remote_access.opened`. */
  readonly action: string;
  /** Empty if it is about no asset. */
  readonly assetUuid: string;
  /** Empty if it is about no app. */
  readonly app: string;
  /** What else it is about, with its name at that time. */
  readonly subject?: { readonly kind: string; readonly id: string; readonly name?: string | undefined } | undefined;
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
