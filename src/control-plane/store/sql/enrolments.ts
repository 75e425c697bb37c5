import type { EnrolmentCode } from "../../core/enrolment.ts";
import type { AuditEntry } from "../audit.ts";
import type { CodeUseResult, EnrolmentStore } from "../enrolments.ts";
import type { Precondition } from "../precondition.ts";
import { recordAudit } from "./audit.ts";
import { acceptDevice, withdrawAcceptance } from "./device-acceptance.ts";
import type { Dialect } from "./dialect.ts";
import type { Executor } from "./executor.ts";
import { change, one, type Work } from "./statement.ts";

/** How long used and expired codes are kept for precise error messages, in seconds. */
const RETENTION_S = 30 * 24 * 3600;

interface Row {
  readonly hash: Uint8Array;
  readonly asset_uuid: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly used_at: number | null;
  readonly nonce_hash: Uint8Array | null;
  readonly may_replace: number;
}

type CodeUse = Parameters<EnrolmentStore["useCode"]>[0];

const FIND = /* sql */ `
  SELECT hash, asset_uuid, created_at, expires_at, used_at, nonce_hash, may_replace FROM enrolment_codes WHERE hash = ?`;
const INSERT = /* sql */ `
  INSERT INTO enrolment_codes (hash, asset_uuid, created_at, expires_at, may_replace) VALUES (?, ?, ?, ?, ?)`;
const REMOVE_UNUSED = "DELETE FROM enrolment_codes WHERE asset_uuid = ? AND used_at IS NULL";
const REMOVE_OLD = "DELETE FROM enrolment_codes WHERE expires_at < ?1 AND coalesce(used_at, 0) < ?1";
const USE = /* sql */ `
  UPDATE enrolment_codes SET used_at = coalesce(used_at, ?1), nonce_hash = ?2
  WHERE hash = ?3 AND (nonce_hash IS NULL OR nonce_hash = ?2)`;
const SET_TOKEN = "UPDATE assets SET next_device_token_hash = ?, next_may_replace = ? WHERE uuid = ?";
const FIND_CONNECTED = "SELECT 1 AS found FROM asset_states WHERE asset_uuid = ? AND last_seen_at IS NOT NULL";
const READ_AUTO_ACCEPT = "SELECT auto_accept FROM accounts WHERE id = ?";
const SET_AUTO_ACCEPT = "UPDATE accounts SET auto_accept = ?1 WHERE id = ?2 AND auto_accept <> ?1";

interface AutoAcceptRow {
  readonly auto_accept: number;
}

export class SqlEnrolmentStore implements EnrolmentStore {
  readonly #executor: Executor;
  readonly #lockAsset: string;
  readonly #lockAssetOfCode: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    const { lockRows }: Dialect = executor.dialect;
    this.#lockAsset = `SELECT uuid FROM assets WHERE uuid = ? ${lockRows}`;
    this.#lockAssetOfCode = /* sql */ `
      SELECT uuid FROM assets WHERE uuid = (SELECT asset_uuid FROM enrolment_codes WHERE hash = ?) ${lockRows}`;
  }

  async issueCode(code: EnrolmentCode, hash: Uint8Array, audit?: AuditEntry): Promise<void> {
    await this.#executor.transact(() => this.#issue(code, hash, audit));
  }

  async findCode(hash: Uint8Array) {
    const row = await this.#executor.one<Row>(FIND, [hash]);
    return row && { code: toCode(row), hash: row.hash, nonceHash: row.nonce_hash ?? undefined };
  }

  async useCode(use: CodeUse): Promise<CodeUseResult> {
    return this.#executor.transact(() => this.#use(use));
  }

  async acceptDevice(assetUuid: string, at: number, audit: AuditEntry): Promise<boolean | undefined> {
    return this.#executor.transact(() => acceptDevice(assetUuid, at, audit));
  }

  async readAutoAccept(accountId: string): Promise<boolean> {
    const row = await this.#executor.one<AutoAcceptRow>(READ_AUTO_ACCEPT, [accountId]);
    return row?.auto_accept === 1;
  }

  async setAutoAccept(
    accountId: string,
    autoAccept: boolean,
    audit: AuditEntry,
    precondition?: Precondition<boolean>,
  ): Promise<void> {
    const lock = `${READ_AUTO_ACCEPT} ${this.#executor.dialect.lockRows}`;
    await this.#executor.transact(function* (): Work<void> {
      if (precondition) precondition((yield* one<AutoAcceptRow>(lock, [accountId]))?.auto_accept === 1);
      const changed = yield* change(SET_AUTO_ACCEPT, [Number(autoAccept), accountId]);
      if (changed > 0) yield* recordAudit(audit);
    });
  }

  async removeOldCodes(now: number): Promise<void> {
    await this.#executor.change(REMOVE_OLD, [now - RETENTION_S]);
  }

  *#issue(
    { assetUuid, createdAt, expiresAt, mayReplace }: EnrolmentCode,
    hash: Uint8Array,
    audit: AuditEntry | undefined,
  ): Work<void> {
    // Without the lock, codes that are issued at the same time would not see, and so not remove, each other.
    yield* one(this.#lockAsset, [assetUuid]);
    yield* change(REMOVE_UNUSED, [assetUuid]);
    yield* change(INSERT, [hash, assetUuid, createdAt, expiresAt, Number(mayReplace)]);
    if (audit) yield* recordAudit(audit);
  }

  *#use({ hash, nonceHash, at, tokenHash, audit }: CodeUse): Work<CodeUseResult> {
    // Locked before the code, as everywhere, so that no two transactions wait for each other.
    const asset = yield* one<{ readonly uuid: string }>(this.#lockAssetOfCode, [hash]);
    const code = yield* one<Row>(FIND, [hash]);
    if (!asset || !code) return "used_before";
    const mayReplace = code.may_replace === 1;
    if (!mayReplace && (yield* one(FIND_CONNECTED, [asset.uuid]))) return "in_service";
    if ((yield* change(USE, [at, nonceHash, hash])) === 0) return "used_before";
    yield* change(SET_TOKEN, [tokenHash, code.may_replace, asset.uuid]);
    // The end of this second, so that everything that was requested before counts.
    if (!mayReplace) yield* withdrawAcceptance(asset.uuid, at * 1000 + 999);
    if (audit) yield* recordAudit(audit);
    return "used";
  }
}

function toCode({ asset_uuid, created_at, expires_at, used_at, may_replace }: Row): EnrolmentCode {
  return {
    assetUuid: asset_uuid,
    createdAt: created_at,
    expiresAt: expires_at,
    usedAt: used_at ?? undefined,
    mayReplace: may_replace === 1,
  };
}
