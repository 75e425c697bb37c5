import type { LeaseStore } from "../instances.ts";
import type { PostgresPool } from "./pool.ts";

const ACQUIRE = /* sql */ `
  INSERT INTO leases AS l (name, holder, epoch, until_ms) VALUES ($1, $2, 1, $4)
  ON CONFLICT (name) DO UPDATE SET epoch = l.epoch + CASE WHEN l.holder = excluded.holder THEN 0 ELSE 1 END,
    holder = excluded.holder, until_ms = excluded.until_ms
  WHERE l.holder = excluded.holder OR l.until_ms <= $3
  RETURNING epoch`;
// The row stays, so that epochs go on.
const RELEASE = "UPDATE leases SET until_ms = 0 WHERE name = $1 AND holder = $2";

export class PostgresLeaseStore implements LeaseStore {
  readonly #pool: PostgresPool;

  constructor(pool: PostgresPool) {
    this.#pool = pool;
  }

  async acquire(name: string, holder: string, nowMs: number, untilMs: number): Promise<number | undefined> {
    const { rows } = await this.#pool.query<{ epoch: number }>(ACQUIRE, [name, holder, nowMs, untilMs]);
    return rows[0]?.epoch;
  }

  async release(name: string, holder: string): Promise<void> {
    await this.#pool.query(RELEASE, [name, holder]);
  }
}
