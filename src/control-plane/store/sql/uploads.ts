import type { AuditEntry } from "../audit.ts";
import {
  type AddPieceResult,
  type HoldingRevision,
  MAX_UPLOADS,
  MAX_UPLOADS_BYTES,
  type NewPiece,
  type Upload,
  type UploadHolders,
  type UploadKey,
  type UploadStore,
} from "../uploads.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { lockAccount } from "./keys.ts";
import { all, change, one, type Value, type Work } from "./statement.ts";

/** Of the removal of pieces: not while the upload that consists of them is completed. */
const LOCK_NUMBER = 4_215_041;

const RECEIVED = /* sql */ `
  CASE WHEN u.is_complete = 1 THEN u.bytes ELSE (
    SELECT CAST(coalesce(sum(octet_length(p.content)), 0) AS BIGINT) FROM upload_pieces p
    WHERE p.account_id = u.account_id AND p.sha256 = u.sha256) END`;
const UPLOADS = `SELECT u.account_id, u.sha256, u.bytes, u.is_complete, u.used_at, ${RECEIVED} AS received_bytes FROM uploads u`;
const FIND = `${UPLOADS} WHERE u.account_id = ? AND u.sha256 = ?`;
const LIST = `${UPLOADS} WHERE u.account_id = ? ORDER BY u.used_at DESC, u.sha256`;
const FIND_FOR_ASSET = /* sql */ `
  ${UPLOADS} WHERE u.account_id = ?1 AND u.sha256 = ?2 AND u.is_complete = 1 AND EXISTS (
    SELECT 1 FROM deployments d JOIN deployment_uploads n ON n.deployment_id = d.id AND n.sha256 = u.sha256
    WHERE d.asset_uuid = ?3 AND d.account_id = u.account_id AND d.status = 'Running')`;
const TOTAL = /* sql */ `
  SELECT count(*) AS uploads, CAST(coalesce(sum(bytes), 0) AS BIGINT) AS bytes FROM uploads WHERE account_id = ?`;
const BEGIN =
  "INSERT INTO uploads (account_id, sha256, bytes, used_at) VALUES (?, ?, CAST(? AS BIGINT), CAST(? AS BIGINT))";
const TOUCH = "UPDATE uploads SET used_at = CAST(? AS BIGINT) WHERE account_id = ? AND sha256 = ?";
const ADD_PIECE = /* sql */ `
  INSERT INTO upload_pieces (account_id, sha256, position, content) VALUES (?, ?, ?, ?)
  ON CONFLICT (account_id, sha256, position) DO NOTHING`;
const COMPLETE = "UPDATE uploads SET is_complete = 1, used_at = CAST(? AS BIGINT) WHERE account_id = ? AND sha256 = ?";
const REMOVE_INCOMPLETE = "DELETE FROM uploads WHERE account_id = ? AND sha256 = ? AND is_complete = 0";
const USE = /* sql */ `
  UPDATE uploads SET used_at = CAST(? AS BIGINT)
  WHERE account_id = ? AND sha256 = ? AND bytes = CAST(? AS BIGINT) AND is_complete = 1`;
const READ_PIECE = "SELECT content FROM upload_pieces WHERE account_id = ? AND sha256 = ? AND position = ?";
/**
 * Revisions that a fleet is at, is brought to, or may go back to: the newest, the stable one, those of rollouts under way, and the one
 * before the newest rollout.
 */
const IS_IN_USE = /* sql */ `(
  r.number = f.last_revision OR r.number = f.stable_revision OR EXISTS (
    SELECT 1 FROM rollouts o WHERE o.fleet_id = f.id AND (
      (o.is_active = 1 AND r.number IN (o.revision, o.previous_revision)) OR (
        r.number = o.previous_revision
        AND o.id = (SELECT max(l.id) FROM rollouts l WHERE l.fleet_id = f.id AND l.kind = 'rollout')))))`;
const isUnused = (ofRevisions: string): string => /* sql */ `
  u.used_at < CAST(?1 AS BIGINT)
    AND NOT EXISTS (
      SELECT 1 FROM revision_uploads r JOIN fleets f ON f.id = r.fleet_id
      WHERE r.sha256 = u.sha256 AND f.account_id = u.account_id ${ofRevisions})
    AND NOT EXISTS (
      SELECT 1 FROM deployment_uploads n WHERE n.account_id = u.account_id AND n.sha256 = u.sha256)`;
// With the time again: it may be used while the others are looked at.
const removal = (condition: string, ofRevisions = ""): string => /* sql */ `
  DELETE FROM uploads WHERE used_at < CAST(?1 AS BIGINT) AND (account_id, sha256) IN (
    SELECT u.account_id, u.sha256 FROM uploads u WHERE ${condition} ${isUnused(ofRevisions)}
    ORDER BY u.used_at, u.sha256 LIMIT ?2)`;
const REMOVE_UNUSED = removal("");
const REMOVE_UNUSED_OF_ACCOUNT = removal("u.account_id = ?3 AND");
const REMOVE_IDLE_OF_ACCOUNT = removal("u.account_id = ?3 AND", `AND ${IS_IN_USE}`);
const USE_OF_REVISION = /* sql */ `
  UPDATE uploads SET used_at = CAST(?1 AS BIGINT) WHERE is_complete = 1 AND (account_id, sha256) IN (
    SELECT f.account_id, r.sha256 FROM revision_uploads r JOIN fleets f ON f.id = r.fleet_id
    WHERE r.fleet_id = ?2 AND r.number = ?3)`;
const COUNT_MISSING = /* sql */ `
  SELECT count(*) AS missing FROM revision_uploads r JOIN fleets f ON f.id = r.fleet_id
  WHERE r.fleet_id = ? AND r.number = ? AND NOT EXISTS (
    SELECT 1 FROM uploads u WHERE u.account_id = f.account_id AND u.sha256 = r.sha256 AND u.is_complete = 1)`;
const HELD_BY_REVISIONS = /* sql */ `
  SELECT f.name AS fleet, r.number AS revision, CAST(sum(u.bytes) AS BIGINT) AS bytes
  FROM uploads u JOIN revision_uploads r ON r.sha256 = u.sha256 JOIN fleets f ON f.id = r.fleet_id AND f.account_id = u.account_id
  WHERE u.account_id = ? AND ${IS_IN_USE} GROUP BY f.name, r.number ORDER BY 3 DESC, 1, 2 LIMIT ?`;
const HELD_BY_OTHERS = /* sql */ `
  SELECT
    CAST(coalesce(sum(CASE WHEN EXISTS (
      SELECT 1 FROM deployment_uploads n WHERE n.account_id = u.account_id AND n.sha256 = u.sha256) THEN u.bytes ELSE 0 END), 0)
      AS BIGINT) AS deployments,
    CAST(coalesce(sum(CASE WHEN u.used_at >= CAST(?1 AS BIGINT) THEN u.bytes ELSE 0 END), 0) AS BIGINT) AS recent
  FROM uploads u WHERE u.account_id = ?2`;
// What has ended needs none. The rest are those of commands that are going on, which are few.
const forgetting = (condition: string): string => /* sql */ `
  DELETE FROM deployment_uploads WHERE ${condition} deployment_id IN (
    SELECT n.deployment_id FROM deployment_uploads n JOIN deployments d ON d.id = n.deployment_id
    WHERE ${condition.replace("account_id", "n.account_id")} d.status <> 'Running' LIMIT 1000)`;
const FORGET_ENDED = forgetting("");
const FORGET_ENDED_OF_ACCOUNT = forgetting("account_id = ?1 AND");
const REMOVE_PIECES_OF = "DELETE FROM upload_pieces WHERE account_id = ? AND sha256 = ?";
const REMOVE_PIECES = /* sql */ `
  DELETE FROM upload_pieces WHERE (account_id, sha256, position) IN (
    SELECT p.account_id, p.sha256, p.position FROM upload_pieces p
    WHERE NOT EXISTS (SELECT 1 FROM uploads u WHERE u.account_id = p.account_id AND u.sha256 = p.sha256)
    LIMIT ?)`;

interface Row {
  readonly account_id: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly is_complete: number;
  readonly used_at: number;
  readonly received_bytes: number;
}

export class SqlUploadStore implements UploadStore {
  readonly #executor: Executor;
  readonly #lockAccount: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#lockAccount = lockAccount(executor);
  }

  async addPiece(key: UploadKey, { bytes, position, content }: NewPiece, at: number): Promise<AddPieceResult> {
    const lockOfAccount = this.#lockAccount;
    const lockOfPieces = this.#lock.bind(this);
    const { accountId, sha256 } = key;
    return this.#executor.transact(function* (): Work<AddPieceResult> {
      // Without it, uploads that begin at the same time would not count each other.
      yield* one(lockOfAccount, [accountId]);
      const upload = yield* one<Row>(FIND, values(key));
      if (upload && upload.bytes !== bytes) return "other_size";
      if (upload) yield* change(TOUCH, [at, ...values(key)]);
      else {
        const total = yield* one<{ readonly uploads: number; readonly bytes: number }>(TOTAL, [accountId]);
        if ((total?.uploads ?? 0) >= MAX_UPLOADS || (total?.bytes ?? 0) + bytes > MAX_UPLOADS_BYTES) return "too_many";
        // Pieces of an earlier upload with this hash stay, if they were not removed yet.
        yield* lockOfPieces();
        yield* change(BEGIN, [accountId, sha256, bytes, at]);
      }
      if (upload?.is_complete !== 1) yield* change(ADD_PIECE, [accountId, sha256, position, content]);
      return "added";
    });
  }

  async completeUpload(key: UploadKey, at: number, audit?: AuditEntry): Promise<boolean> {
    const lock = this.#lock.bind(this);
    return this.#executor.transact(function* (): Work<boolean> {
      yield* lock();
      const upload = yield* one<Row>(FIND, values(key));
      if (!upload || upload.received_bytes !== upload.bytes) return false;
      if (upload.is_complete === 1) return true;
      yield* change(COMPLETE, [at, ...values(key)]);
      if (audit) yield* recordAudit(audit);
      return true;
    });
  }

  async removeIncomplete(key: UploadKey): Promise<void> {
    const lock = this.#lock.bind(this);
    await this.#executor.transact(function* (): Work<void> {
      yield* lock();
      if ((yield* change(REMOVE_INCOMPLETE, values(key))) > 0) yield* change(REMOVE_PIECES_OF, values(key));
    });
  }

  async findUpload(key: UploadKey): Promise<Upload | undefined> {
    const row = await this.#executor.one<Row>(FIND, values(key));
    return row && toUpload(row);
  }

  async listUploads(accountId: string): Promise<readonly Upload[]> {
    return (await this.#executor.all<Row>(LIST, [accountId])).map(toUpload);
  }

  async useUpload(key: UploadKey, bytes: number, at: number): Promise<boolean> {
    return (await this.#executor.change(USE, [at, ...values(key), bytes])) > 0;
  }

  async findForAsset(key: UploadKey, assetUuid: string): Promise<Upload | undefined> {
    const row = await this.#executor.one<Row>(FIND_FOR_ASSET, [...values(key), assetUuid]);
    return row && toUpload(row);
  }

  async readPiece(key: UploadKey, position: number): Promise<Uint8Array | undefined> {
    const row = await this.#executor.one<{ readonly content: Uint8Array }>(READ_PIECE, [...values(key), position]);
    return row?.content;
  }

  async removeUnused(before: number, limit: number, accountId?: string): Promise<number> {
    if (accountId === undefined) {
      await this.#executor.change(FORGET_ENDED);
      return this.#executor.change(REMOVE_UNUSED, [before, limit]);
    }
    await this.#executor.change(FORGET_ENDED_OF_ACCOUNT, [accountId]);
    return this.#executor.change(REMOVE_UNUSED_OF_ACCOUNT, [before, limit, accountId]);
  }

  async removeIdle(before: number, accountId: string): Promise<boolean> {
    return (await this.#executor.change(REMOVE_IDLE_OF_ACCOUNT, [before, 1, accountId])) > 0;
  }

  async useOfRevision(fleetId: string, number: number, at: number): Promise<boolean> {
    await this.#executor.change(USE_OF_REVISION, [at, fleetId, number]);
    const found = await this.#executor.one<{ readonly missing: number }>(COUNT_MISSING, [fleetId, number]);
    return (found?.missing ?? 0) === 0;
  }

  async findHolders(accountId: string, since: number, limit: number): Promise<UploadHolders> {
    const revisions = await this.#executor.all<HoldingRevision>(HELD_BY_REVISIONS, [accountId, limit]);
    const others = await this.#executor.one<Omit<UploadHolders, "revisions">>(HELD_BY_OTHERS, [since, accountId]);
    return { revisions, deployments: others?.deployments ?? 0, recent: others?.recent ?? 0 };
  }

  async removeUnusedPieces(limit: number): Promise<number> {
    const lock = this.#lock.bind(this);
    return this.#executor.transact(function* (): Work<number> {
      yield* lock();
      return yield* change(REMOVE_PIECES, [limit]);
    });
  }

  *#lock(): Work<void> {
    const lock = this.#executor.dialect.takeLock(LOCK_NUMBER);
    if (lock) yield* all(lock);
  }
}

function values({ accountId, sha256 }: UploadKey): Value[] {
  return [accountId, sha256];
}

function toUpload(row: Row): Upload {
  return {
    accountId: row.account_id,
    sha256: row.sha256,
    bytes: row.bytes,
    receivedBytes: row.received_bytes,
    isComplete: row.is_complete === 1,
    usedAt: row.used_at,
  };
}
