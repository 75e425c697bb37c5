import { parseTimeMark } from "../../../lib/steady-clock.ts";
import type { TimeMark } from "../../../lib/steady-time.ts";
import type { TimeStore } from "../instances.ts";
import type { Executor } from "./executor.ts";
import { change, type Work } from "./statement.ts";

const DAY_MS = 86_400_000;
/** A time that is later than now by less may be of another instance. */
const MAX_DIFFERENCE_MS = 5 * 60_000;
/** No SIM is read less often (`sim_sync_interval_s`), and no plan is judged later than at the end of a month. */
const MAX_PAUSE_MS = 32 * DAY_MS;

const READ = "SELECT time_mark FROM service_state";
const SAVE = "UPDATE service_state SET time_mark = ?";
const SET_BACK_CHECKS = "UPDATE sims SET next_check_at_ms = ?1 WHERE next_check_at_ms > ?2";
const SET_BACK_PLANS = "UPDATE sims SET plan_due_ms = ?1 WHERE plan_due_ms > ?2";
/** What is due for a target follows from the other times: it is decided anew. */
const SET_BACK_TARGETS = /* sql */ `
  UPDATE rollout_targets SET due_ms = CASE WHEN due_ms IS NOT NULL THEN CAST(?1 AS BIGINT) END,
    since_ms = CASE WHEN since_ms > ?2 THEN CAST(?1 AS BIGINT) ELSE since_ms END,
    begun_at_ms = CASE WHEN begun_at_ms > ?2 THEN CAST(?1 AS BIGINT) ELSE begun_at_ms END,
    soak_since_ms = CASE WHEN soak_since_ms > ?2 THEN CAST(?1 AS BIGINT) ELSE soak_since_ms END,
    down_since_ms = CASE WHEN down_since_ms > ?2 THEN CAST(?1 AS BIGINT) ELSE down_since_ms END,
    away_since_ms = CASE WHEN away_since_ms > ?2 THEN CAST(?1 AS BIGINT) ELSE away_since_ms END
  WHERE since_ms > ?2 OR begun_at_ms > ?2 OR soak_since_ms > ?2 OR down_since_ms > ?2
    OR away_since_ms > ?2`;

export class SqlTimeStore implements TimeStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async readMark(): Promise<TimeMark | undefined> {
    return parseTimeMark((await this.#executor.one<{ readonly time_mark: string | null }>(READ))?.time_mark);
  }

  async saveMark(mark: TimeMark): Promise<void> {
    await this.#executor.change(SAVE, [JSON.stringify(mark)]);
  }

  async setBack(nowMs: number): Promise<number> {
    return this.#executor.transact(function* (): Work<number> {
      const checks = yield* change(SET_BACK_CHECKS, [nowMs, nowMs + MAX_PAUSE_MS]);
      const plans = yield* change(SET_BACK_PLANS, [nowMs, nowMs + MAX_PAUSE_MS]);
      return checks + plans + (yield* change(SET_BACK_TARGETS, [nowMs, nowMs + MAX_DIFFERENCE_MS]));
    });
  }
}
