export interface NetworkGroupStore {
  /** Adds a group to the account's own; one that is there already is no error. Throws when there is no such account. */
  addNetworkGroup(accountId: string, name: string): Promise<void>;
  /** Names of the account's own groups, in alphabetical order. */
  listNetworkGroups(accountId: string): Promise<readonly string[]>;
}
