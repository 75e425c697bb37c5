import type { DatabaseSync } from "node:sqlite";
import type { Account, AccountStore, AccountUsage } from "../accounts.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly created_at: number;
}

export class SqliteAccountStore implements AccountStore {
  readonly #insert;
  readonly #find;
  readonly #list;
  readonly #usage;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare("INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?)");
    this.#find = database.prepare("SELECT * FROM accounts WHERE id = ?");
    this.#list = database.prepare("SELECT * FROM accounts ORDER BY created_at, id");
    this.#usage = database.prepare(
      "SELECT stored_bytes AS storedBytes, asset_count AS assets FROM accounts WHERE id = ?",
    );
  }

  async createAccount(account: Account): Promise<void> {
    this.#insert.run(account.id, account.name, account.createdAt);
  }

  async findAccount(id: string): Promise<Account | undefined> {
    const row = this.#find.get(id) as Row | undefined;
    return row && toAccount(row);
  }

  async findUsage(id: string): Promise<AccountUsage> {
    return (this.#usage.get(id) as unknown as AccountUsage | undefined) ?? { storedBytes: 0, assets: 0 };
  }

  async listAccounts(): Promise<readonly Account[]> {
    return (this.#list.all() as unknown as Row[]).map(toAccount);
  }
}

function toAccount(row: Row): Account {
  return { id: row.id, name: row.name, createdAt: row.created_at };
}
