import type { Account, AccountStore, AccountUsage } from "../accounts.ts";
import type { AuditEntry } from "../audit.ts";
import type { Precondition } from "../precondition.ts";
import { changeWithAudit, recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { change, one, type Work } from "./statement.ts";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly created_at: number;
}

const INSERT = "INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?)";
const FIND = "SELECT id, name, created_at FROM accounts WHERE id = ?";
const LIST = "SELECT id, name, created_at FROM accounts ORDER BY created_at, id";
const READ_OPERATORS = "SELECT operators_update_agents AS may FROM accounts WHERE id = ?";
const SET_OPERATORS =
  "UPDATE accounts SET operators_update_agents = ?1 WHERE id = ?2 AND operators_update_agents <> ?1";

interface OperatorsRow {
  readonly may: number;
}

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

  async readOperatorsUpdateAgents(accountId: string): Promise<boolean> {
    return (await this.#executor.one<OperatorsRow>(READ_OPERATORS, [accountId]))?.may === 1;
  }

  async setOperatorsUpdateAgents(
    accountId: string,
    mayUpdate: boolean,
    audit: AuditEntry,
    precondition?: Precondition<boolean>,
  ): Promise<void> {
    const lock = `${READ_OPERATORS} ${this.#executor.dialect.lockRows}`;
    await this.#executor.transact(function* (): Work<void> {
      if (precondition) precondition((yield* one<OperatorsRow>(lock, [accountId]))?.may === 1);
      const changed = yield* change(SET_OPERATORS, [Number(mayUpdate), accountId]);
      if (changed > 0) yield* recordAudit(audit);
    });
  }
}

function toAccount(row: Row): Account {
  return { id: row.id, name: row.name, createdAt: row.created_at };
}
