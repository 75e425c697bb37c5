import type { Instance, InstanceStore, NewInstance, ServiceState, SharedTime } from "../instances.ts";
import type { PostgresPool } from "./pool.ts";

/**
 * Identity of the database: changes when a backup or a copy of it takes its place. The timeline is the start of the name
 * of the log file that is written at the moment.
 */
const IDENTITY = /* sql */ `
  (SELECT system_identifier FROM pg_control_system()) || '/' ||
  (SELECT oid FROM pg_database WHERE datname = current_database()) || '/' ||
  left(pg_walfile_name(pg_current_wal_lsn()), 8)`;

const JOIN = /* sql */ `
  WITH joined AS (
    INSERT INTO instances (id, version, started_at_ms, lease_until_ms) VALUES ($1, $2, $3, $4)
    ON CONFLICT (id) DO UPDATE SET version = excluded.version, started_at_ms = excluded.started_at_ms,
      lease_until_ms = excluded.lease_until_ms, is_stopping = 0)
  UPDATE service_state SET alive_at_ms = greatest(alive_at_ms, $5), database_identity = ${IDENTITY}`;
const RENEW = /* sql */ `
  WITH renewed AS (
    UPDATE instances SET lease_until_ms = $3 WHERE id = $1 AND lease_until_ms > $2
      AND (SELECT database_identity FROM service_state) = ${IDENTITY}
    RETURNING 1)
  UPDATE service_state SET alive_at_ms = greatest(alive_at_ms, $2) WHERE EXISTS (SELECT 1 FROM renewed)`;
const MARK_STOPPING = "UPDATE instances SET is_stopping = 1 WHERE id = $1";
const LEAVE = /* sql */ `
  WITH gone AS (DELETE FROM instances WHERE id = $1)
  UPDATE service_state SET alive_at_ms = greatest(alive_at_ms, $2)`;
const REMOVE_LAPSED = "DELETE FROM instances WHERE id = $1 AND lease_until_ms <= $2";
const FIND = "SELECT 1 FROM instances WHERE id = $1";
const LIST = /* sql */ `
  SELECT id, version, started_at_ms AS "startedAtMs", lease_until_ms AS "leaseUntilMs", is_stopping = 1 AS "isStopping"
  FROM instances ORDER BY id`;
const STATE = /* sql */ `
  SELECT alive_at_ms AS "aliveAtMs", database_identity AS "knownIdentity", ${IDENTITY} AS identity FROM service_state`;
const TIME = /* sql */ `
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "nowMs", clock_shift_ms AS "shiftMs",
    clock_version AS version
  FROM service_state`;
const CHANGE_SHIFT =
  "UPDATE service_state SET clock_shift_ms = $2, clock_version = clock_version + 1 WHERE clock_version = $1";

interface StateRow {
  readonly aliveAtMs: number | null;
  readonly knownIdentity: string | null;
  readonly identity: string;
}

export class PostgresInstanceStore implements InstanceStore {
  readonly #pool: PostgresPool;

  constructor(pool: PostgresPool) {
    this.#pool = pool;
  }

  async join({ id, version, startedAtMs, leaseUntilMs, nowMs }: NewInstance): Promise<void> {
    await this.#pool.query(JOIN, [id, version, startedAtMs, leaseUntilMs, nowMs]);
  }

  async renew(id: string, nowMs: number, untilMs: number): Promise<boolean> {
    return (await this.#pool.query(RENEW, [id, nowMs, untilMs])).rowCount > 0;
  }

  async markStopping(id: string): Promise<void> {
    await this.#pool.query(MARK_STOPPING, [id]);
  }

  async leave(id: string, nowMs: number): Promise<void> {
    await this.#pool.query(LEAVE, [id, nowMs]);
  }

  async removeLapsed(id: string, nowMs: number): Promise<boolean> {
    await this.#pool.query(REMOVE_LAPSED, [id, nowMs]);
    return (await this.#pool.query(FIND, [id])).rowCount === 0;
  }

  async list(): Promise<readonly Instance[]> {
    return (await this.#pool.query<Instance>(LIST, [])).rows;
  }

  async findState(): Promise<ServiceState> {
    const { rows } = await this.#pool.query<StateRow>(STATE, []);
    const { aliveAtMs, identity, knownIdentity } = required(rows);
    return { aliveAtMs: aliveAtMs ?? undefined, identity, knownIdentity: knownIdentity ?? undefined };
  }

  async readTime(): Promise<SharedTime> {
    return required((await this.#pool.query<SharedTime>(TIME, [])).rows);
  }

  async changeShift(version: number, shiftMs: number): Promise<boolean> {
    return (await this.#pool.query(CHANGE_SHIFT, [version, shiftMs])).rowCount > 0;
  }
}

function required<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error("the table service_state has no row");
  return row;
}
