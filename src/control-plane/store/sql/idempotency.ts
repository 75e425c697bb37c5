import {
  IDEMPOTENCY_KEPT_MS,
  type IdempotencyClaim,
  type IdempotencyId,
  type IdempotencyLimits,
  type IdempotencyStore,
  type IdempotentRequest,
  MAX_IDEMPOTENT_REQUEST_MS,
  MAX_IDEMPOTENT_REQUESTS,
  MAX_IDEMPOTENT_RESPONSE_BYTES,
} from "../idempotency.ts";
import type { Executor } from "./executor.ts";
import { change, one, type Work } from "./statement.ts";

const WHERE_ID = "WHERE account_id = ? AND key_hash = ?";
const INSERT = /* sql */ `
  INSERT INTO idempotent_requests (account_id, key_hash, principal_id, operation, fingerprint, started_at_ms)
  VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (account_id, key_hash) DO NOTHING`;
const FIND = /* sql */ `
  SELECT principal_id, operation, fingerprint, started_at_ms, is_applied, response FROM idempotent_requests ${WHERE_ID}`;
const RESTART = `UPDATE idempotent_requests SET started_at_ms = ? ${WHERE_ID}`;
const REMOVE = `DELETE FROM idempotent_requests ${WHERE_ID}`;
const COMPLETE = `UPDATE idempotent_requests SET is_applied = 1, response = ?, response_bytes = ? ${WHERE_ID}`;
const SET_APPLIED = `UPDATE idempotent_requests SET is_applied = 1 ${WHERE_ID}`;
const FIND_USED = /* sql */ `
  SELECT count(*) AS requests, CAST(coalesce(sum(response_bytes), 0) AS BIGINT) AS bytes
  FROM idempotent_requests WHERE account_id = ?`;
// The index has all of it. What is being carried out is kept.
const REMOVE_SURPLUS = /* sql */ `
  DELETE FROM idempotent_requests WHERE account_id = ?1 AND response IS NOT NULL AND started_at_ms <= (
    SELECT max(started_at_ms) FROM (
      SELECT started_at_ms, row_number() OVER newest AS requests, sum(response_bytes) OVER newest AS bytes
      FROM idempotent_requests WHERE account_id = ?1
      WINDOW newest AS (ORDER BY started_at_ms DESC ROWS UNBOUNDED PRECEDING)) kept
    WHERE requests > ?2 OR bytes > ?3)`;
const REMOVE_ABANDONED = "DELETE FROM idempotent_requests WHERE response IS NULL AND is_applied = 0";
const END_ABANDONED = "UPDATE idempotent_requests SET response = ? WHERE response IS NULL";
const REMOVE_OLD = "DELETE FROM idempotent_requests WHERE started_at_ms < ?";

const LIMITS: IdempotencyLimits = { maxRequests: MAX_IDEMPOTENT_REQUESTS, maxBytes: MAX_IDEMPOTENT_RESPONSE_BYTES };

/** In the place of a response that is lost. */
const LOST = new Uint8Array(0);

/** A full account is cleared of many at a time: finding the oldest takes twenty times as long as counting. */
const SLACK = 1.1;

interface Used {
  readonly requests: number;
  readonly bytes: number;
}

interface Row {
  readonly principal_id: string;
  readonly operation: string;
  readonly fingerprint: Uint8Array;
  readonly started_at_ms: number;
  readonly is_applied: number;
  readonly response: Uint8Array | null;
}

/** Records that the request was carried out, in the transaction of its change. */
export function* markApplied({ accountId, keyHash }: IdempotencyId): Work<void> {
  yield* change(SET_APPLIED, [accountId, keyHash]);
}

export class SqlIdempotencyStore implements IdempotencyStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async claim(request: IdempotentRequest, nowMs: number): Promise<IdempotencyClaim> {
    const { accountId, keyHash, principalId, operation, fingerprint } = request;
    const find = `${FIND} ${this.#executor.dialect.lockRows}`;
    const values = [accountId, keyHash, principalId, operation, fingerprint, nowMs];
    return this.#executor.transact(function* (): Work<IdempotencyClaim> {
      if ((yield* change(INSERT, values)) > 0) return { kind: "claimed" };
      const row = yield* one<Row>(find, [accountId, keyHash]);
      // Removed since: as if it had not been there.
      const isOver = row === undefined || row.started_at_ms <= nowMs - IDEMPOTENCY_KEPT_MS;
      if (!isOver) {
        const isSame = row.principal_id === principalId && Buffer.compare(row.fingerprint, fingerprint) === 0;
        if (!isSame) return { kind: "other", principalId: row.principal_id, operation: row.operation };
        const untilMs = row.started_at_ms + MAX_IDEMPOTENT_REQUEST_MS;
        if (row.response) return { kind: "done", response: row.response.length > 0 ? row.response : undefined };
        if (untilMs > nowMs) return { kind: "in_progress", untilMs };
        if (row.is_applied === 1) return { kind: "done", response: undefined };
        // Its process ended before it changed anything.
        yield* change(RESTART, [nowMs, accountId, keyHash]);
        return { kind: "claimed" };
      }
      yield* change(REMOVE, [accountId, keyHash]);
      const isFirst = (yield* change(INSERT, values)) > 0;
      return isFirst ? { kind: "claimed" } : { kind: "in_progress", untilMs: nowMs + MAX_IDEMPOTENT_REQUEST_MS };
    });
  }

  async complete(
    { accountId, keyHash }: IdempotencyId,
    response: Uint8Array,
    { maxRequests, maxBytes }: IdempotencyLimits = LIMITS,
  ): Promise<void> {
    await this.#executor.change(COMPLETE, [response, response.byteLength, accountId, keyHash]);
    // In statements of their own: nothing depends on them.
    const used = await this.#executor.one<Used>(FIND_USED, [accountId]);
    const isFull = used && (used.requests > SLACK * maxRequests || used.bytes > SLACK * maxBytes);
    if (isFull) await this.#executor.change(REMOVE_SURPLUS, [accountId, maxRequests, maxBytes]);
  }

  async release({ accountId, keyHash }: IdempotencyId, isInDoubt: boolean): Promise<void> {
    await this.#executor.change(isInDoubt ? `${REMOVE} AND is_applied = 0` : REMOVE, [accountId, keyHash]);
  }

  async endAbandoned(): Promise<void> {
    await this.#executor.transact(function* (): Work<void> {
      yield* change(REMOVE_ABANDONED, []);
      yield* change(END_ABANDONED, [LOST]);
    });
  }

  async removeOld(beforeMs: number): Promise<void> {
    await this.#executor.change(REMOVE_OLD, [beforeMs]);
  }
}
