import type { Account, AccountStore, AccountUsage } from "../accounts.ts";
import type { AuditEntry } from "../audit.ts";
import { changeWithAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly created_at: number;
}

const INSERT = "INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?)";
const FIND = "SELECT id, name, created_at FROM accounts WHERE id = ?";
const LIST = "SELECT id, name, created_at FROM accounts ORDER BY created_at, id";

export class SqlAccountStore implements AccountStore {
  readonly #executor: Executor;
  readonly #findUsage: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#findUsage = `SELECT ${executor.dialect.storedBytes} AS "storedBytes", asset_count AS assets FROM accounts WHERE id = ?`;
  }

  async createAccount({ id, name, createdAt }: Account, audit?: AuditEntry): Promise<void> {
    await changeWithAudit(this.#executor, INSERT, [id, name, createdAt], audit);
  }

  async findAccount(id: string): Promise<Account | undefined> {
    const row = await this.#executor.one<Row>(FIND, [id]);
    return row && toAccount(row);
  }

  async findUsage(id: string): Promise<AccountUsage> {
    return (await this.#executor.one<AccountUsage>(this.#findUsage, [id])) ?? { storedBytes: 0, assets: 0 };
  }

  async listAccounts(): Promise<readonly Account[]> {
    return (await this.#executor.all<Row>(LIST)).map(toAccount);
  }
}

function toAccount(row: Row): Account {
  return { id: row.id, name: row.name, createdAt: row.created_at };
}
