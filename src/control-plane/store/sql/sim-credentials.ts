import type { SimType } from "../../../protocol/assets/sim.ts";
import type { Sealed } from "../asset-settings.ts";
import type { AuditEntry } from "../audit.ts";
import type { SimCredentialStore, StoredCredentials } from "../sim-credentials.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { change, type Parameters, type Work } from "./statement.ts";

const COLUMNS = "SELECT account_id, kind, changed_at_ms, key_id, sealed FROM sim_operator_credentials";
const LIST = `${COLUMNS} ORDER BY account_id, kind`;
const LIST_TYPES = "SELECT DISTINCT kind FROM sim_operator_credentials ORDER BY kind";
const FIND = `${COLUMNS} WHERE account_id = ? AND kind = ?`;
// Of an account that is removed meanwhile nothing is stored.
const SET = /* sql */ `
  INSERT INTO sim_operator_credentials (account_id, kind, changed_at_ms, key_id, sealed)
  SELECT id, ?2, CAST(?3 AS BIGINT), ?4, ?5 FROM accounts WHERE id = ?1
  ON CONFLICT (account_id, kind) DO UPDATE
  SET changed_at_ms = excluded.changed_at_ms, key_id = excluded.key_id, sealed = excluded.sealed`;
const REMOVE = "DELETE FROM sim_operator_credentials WHERE account_id = ? AND kind = ?";
// Another operator may know them, or none.
const MAKE_DUE = /* sql */ `
  UPDATE sims SET next_check_at_ms = CAST(?3 AS BIGINT)
  WHERE kind = ?2 AND next_check_at_ms > CAST(?3 AS BIGINT) AND asset_uuid IN (SELECT uuid FROM assets WHERE account_id = ?1)`;
// As for variables: two ranges are two scans of the index.
const LIST_OTHER_KEYS = `${COLUMNS} WHERE key_id < ?1 OR key_id > ?1 LIMIT ?2`;
const RESEAL = /* sql */ `
  UPDATE sim_operator_credentials SET key_id = ?, sealed = ? WHERE account_id = ? AND kind = ? AND sealed = ?`;

interface Row {
  readonly account_id: string;
  readonly kind: SimType;
  readonly changed_at_ms: number;
  readonly key_id: string;
  readonly sealed: Uint8Array;
}

export class SqlSimCredentialStore implements SimCredentialStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async listCredentials(): Promise<readonly StoredCredentials[]> {
    return (await this.#executor.all<Row>(LIST)).map(toCredentials);
  }

  async listTypes(): Promise<readonly SimType[]> {
    return (await this.#executor.all<Pick<Row, "kind">>(LIST_TYPES)).map(({ kind }) => kind);
  }

  async findCredentials(accountId: string, type: SimType): Promise<StoredCredentials | undefined> {
    const row = await this.#executor.one<Row>(FIND, [accountId, type]);
    return row && toCredentials(row);
  }

  async setCredentials(credentials: StoredCredentials, audit?: AuditEntry): Promise<boolean> {
    const { accountId, type, changedAtMs, keyId, sealed } = credentials;
    return this.#change(SET, [accountId, type, changedAtMs, keyId, sealed], [accountId, type, changedAtMs], audit);
  }

  async removeCredentials(accountId: string, type: SimType, atMs: number, audit?: AuditEntry): Promise<boolean> {
    return this.#change(REMOVE, [accountId, type], [accountId, type, atMs], audit);
  }

  #change(sql: string, parameters: Parameters, due: Parameters, audit: AuditEntry | undefined): Promise<boolean> {
    return this.#executor.transact(function* (): Work<boolean> {
      if ((yield* change(sql, parameters)) === 0) return false;
      yield* change(MAKE_DUE, due);
      if (audit) yield* recordAudit(audit);
      return true;
    });
  }

  async listCredentialsNotSealedBy(keyId: string, limit: number): Promise<readonly StoredCredentials[]> {
    return (await this.#executor.all<Row>(LIST_OTHER_KEYS, [keyId, limit])).map(toCredentials);
  }

  async resealCredentials(accountId: string, type: SimType, before: Uint8Array, after: Sealed): Promise<boolean> {
    return (await this.#executor.change(RESEAL, [after.keyId, after.sealed, accountId, type, before])) > 0;
  }
}

function toCredentials({ account_id, kind, changed_at_ms, key_id, sealed }: Row): StoredCredentials {
  return { accountId: account_id, type: kind, changedAtMs: changed_at_ms, keyId: key_id, sealed };
}
