import type { AuditEntry } from "../audit.ts";
import type { NetworkGroupStore } from "../network-groups.ts";
import { changeWithAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";

const INSERT = "INSERT INTO network_groups (account_id, name) VALUES (?, ?) ON CONFLICT DO NOTHING";
const LIST = "SELECT name FROM network_groups WHERE account_id = ? ORDER BY name";

export class SqlNetworkGroupStore implements NetworkGroupStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async addNetworkGroup(accountId: string, name: string, audit?: AuditEntry): Promise<void> {
    await changeWithAudit(this.#executor, INSERT, [accountId, name], audit);
  }

  async listNetworkGroups(accountId: string): Promise<readonly string[]> {
    const rows = await this.#executor.all<{ readonly name: string }>(LIST, [accountId]);
    return rows.map(({ name }) => name);
  }
}
