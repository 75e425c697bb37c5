import type { AuditEntry } from "./audit.ts";

export interface NetworkGroupStore {
  /** Adds a group to the account's own, if it is not there. Throws when there is no such account. */
  addNetworkGroup(accountId: string, name: string, audit?: AuditEntry): Promise<void>;
  /** Returns the names of the account's own groups in alphabetical order. */
  listNetworkGroups(accountId: string): Promise<readonly string[]>;
}
