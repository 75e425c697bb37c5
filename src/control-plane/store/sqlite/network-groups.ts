import type { DatabaseSync } from "node:sqlite";
import type { NetworkGroupStore } from "../network-groups.ts";

export class SqliteNetworkGroupStore implements NetworkGroupStore {
  readonly #insert;
  readonly #list;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      "INSERT INTO network_groups (account_id, name) VALUES (?, ?) ON CONFLICT DO NOTHING",
    );
    this.#list = database.prepare("SELECT name FROM network_groups WHERE account_id = ? ORDER BY name");
  }

  async addNetworkGroup(accountId: string, name: string): Promise<void> {
    this.#insert.run(accountId, name);
  }

  async listNetworkGroups(accountId: string): Promise<readonly string[]> {
    return this.#list.all(accountId).map((row) => String(row["name"]));
  }
}
