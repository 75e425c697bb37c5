import type { DatabaseSync } from "node:sqlite";
import { transaction } from "../../../lib/sqlite.ts";
import type { EnrolmentCode } from "../../core/enrolment.ts";
import type { EnrolmentStore } from "../enrolments.ts";

/** How long used and expired codes are kept for precise error messages, in seconds. */
const RETENTION_S = 30 * 24 * 3600;

interface Row {
  readonly hash: Uint8Array;
  readonly asset_uuid: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly used_at: number | null;
  readonly nonce_hash: Uint8Array | null;
}

export class SqliteEnrolmentStore implements EnrolmentStore {
  readonly #database: DatabaseSync;
  readonly #insert;
  readonly #find;
  readonly #use;
  readonly #setToken;
  readonly #removeUnused;
  readonly #removeOld;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#insert = database.prepare(
      "INSERT INTO enrolment_codes (hash, asset_uuid, created_at, expires_at) VALUES (?, ?, ?, ?)",
    );
    this.#find = database.prepare("SELECT * FROM enrolment_codes WHERE hash = ?");
    this.#use = database.prepare(
      `UPDATE enrolment_codes SET used_at = coalesce(used_at, ?), nonce_hash = ?
       WHERE hash = ? AND (nonce_hash IS NULL OR nonce_hash = ?)`,
    );
    this.#setToken = database.prepare(
      `UPDATE assets SET next_device_token_hash = ?
       WHERE uuid = (SELECT asset_uuid FROM enrolment_codes WHERE hash = ?)`,
    );
    this.#removeUnused = database.prepare("DELETE FROM enrolment_codes WHERE asset_uuid = ? AND used_at IS NULL");
    this.#removeOld = database.prepare("DELETE FROM enrolment_codes WHERE max(expires_at, coalesce(used_at, 0)) < ?");
  }

  async issueCode({ assetUuid, createdAt, expiresAt }: EnrolmentCode, hash: Uint8Array): Promise<void> {
    transaction(this.#database, () => {
      this.#removeOld.run(createdAt - RETENTION_S);
      this.#removeUnused.run(assetUuid);
      this.#insert.run(hash, assetUuid, createdAt, expiresAt);
    });
  }

  async findCode(hash: Uint8Array) {
    const row = this.#find.get(hash) as Row | undefined;
    return row && { code: toCode(row), hash: row.hash, nonceHash: row.nonce_hash ?? undefined };
  }

  async useCode({ hash, nonceHash, at, tokenHash }: Parameters<EnrolmentStore["useCode"]>[0]): Promise<boolean> {
    return transaction(this.#database, () => {
      if (this.#use.run(at, nonceHash, hash, nonceHash).changes === 0) return false;
      return this.#setToken.run(tokenHash, hash).changes > 0;
    });
  }
}

function toCode({ asset_uuid, created_at, expires_at, used_at }: Row): EnrolmentCode {
  return { assetUuid: asset_uuid, createdAt: created_at, expiresAt: expires_at, usedAt: used_at ?? undefined };
}
