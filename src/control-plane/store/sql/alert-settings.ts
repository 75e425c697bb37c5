import type { AlertCondition } from "../../../protocol/alerts/condition.ts";
import type { AlertRouteBody, AlertRule } from "../../../protocol/alerts/settings.ts";
import {
  type AlertSettings,
  type AlertSettingsStore,
  MAX_SILENCES,
  type NamedRoute,
  type SettingsChange,
  type Silence,
  type Stored,
  type StoredChannel,
} from "../alerts.ts";
import { isAboutLevels } from "../../core/alerts/thresholds.ts";
import type { Sealed } from "../asset-settings.ts";
import type { AuditEntry } from "../audit.ts";
import { FAIL_WAITING } from "./alert-outbox.ts";
import { recordAudit } from "./audit.ts";
import type { Executor } from "./executor.ts";
import { lockAccount } from "./keys.ts";
import { all, change, one, type Value, type Work } from "./statement.ts";

const READ_RULES = "SELECT rules FROM alert_rules WHERE account_id = ?";
const LIST_LEVEL_RULES = /* sql */ `
  SELECT account_id, rules FROM alert_rules WHERE about_levels = 1 AND account_id > ? ORDER BY account_id LIMIT ?`;
const SET_RULES = /* sql */ `
  INSERT INTO alert_rules (account_id, rules, about_levels) VALUES (?, ?, ?)
  ON CONFLICT (account_id) DO UPDATE SET rules = excluded.rules, about_levels = excluded.about_levels`;
const LIST_ROUTES = "SELECT name, body FROM alert_routes WHERE account_id = ? ORDER BY name";
const PUT_ROUTE = /* sql */ `
  INSERT INTO alert_routes (account_id, name, body) VALUES (?, ?, ?)
  ON CONFLICT (account_id, name) DO UPDATE SET body = excluded.body`;
const REMOVE_ROUTE = "DELETE FROM alert_routes WHERE account_id = ? AND name = ?";
const CHANNEL_COLUMNS =
  "account_id, name, kind, shown, changed_at_ms, failing_since_ms, disabled_at_ms, key_id, sealed";
const LIST_CHANNELS = `SELECT ${CHANNEL_COLUMNS} FROM alert_channels WHERE account_id = ? ORDER BY name`;
const FIND_CHANNEL = `SELECT ${CHANNEL_COLUMNS} FROM alert_channels WHERE account_id = ? AND name = ?`;
const PUT_CHANNEL = /* sql */ `
  INSERT INTO alert_channels (account_id, name, kind, shown, changed_at_ms, key_id, sealed) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (account_id, name) DO UPDATE SET kind = excluded.kind, shown = excluded.shown,
    changed_at_ms = excluded.changed_at_ms, failing_since_ms = NULL, disabled_at_ms = NULL, key_id = excluded.key_id,
    sealed = excluded.sealed`;
const REMOVE_CHANNEL = "DELETE FROM alert_channels WHERE account_id = ? AND name = ?";
// As for variables: two ranges are two scans of the index.
const LIST_OTHER_KEYS = `SELECT ${CHANNEL_COLUMNS} FROM alert_channels WHERE key_id < ?1 OR key_id > ?1 LIMIT ?2`;
const RESEAL = "UPDATE alert_channels SET key_id = ?, sealed = ? WHERE account_id = ? AND name = ? AND sealed = ?";
const LIST_SILENCES = /* sql */ `
  SELECT s.id, s.account_id, s.conditions, s.selector, s.asset_uuid, a.name AS asset_name, s.reason, s.created_by, s.created_at_ms,
    s.ends_at_ms
  FROM silences s LEFT JOIN assets a ON a.uuid = s.asset_uuid
  WHERE s.account_id = ? AND s.ends_at_ms > ? ORDER BY s.ends_at_ms, s.id`;
/** Not if the asset was removed meanwhile. */
const INSERT_SILENCE = /* sql */ `
  INSERT INTO silences (id, account_id, conditions, selector, asset_uuid, reason, created_by, created_at_ms, ends_at_ms)
  SELECT ?1, ?2, CAST(?3 AS TEXT), ?4, CAST(?5 AS TEXT), ?6, ?7, CAST(?8 AS BIGINT), CAST(?9 AS BIGINT)
  WHERE CAST(?5 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM assets WHERE uuid = ?5)`;
const END_SILENCE = "DELETE FROM silences WHERE account_id = ? AND id = ? AND ends_at_ms > ?";
const REMOVE_ENDED = "DELETE FROM silences WHERE account_id = ? AND ends_at_ms <= ?";

interface ChannelRow {
  readonly account_id: string;
  readonly name: string;
  readonly kind: string;
  readonly shown: string;
  readonly changed_at_ms: number;
  readonly failing_since_ms: number | null;
  readonly disabled_at_ms: number | null;
  readonly key_id: string;
  readonly sealed: Uint8Array;
}

interface RulesRow {
  readonly rules: string;
}

interface RouteRow {
  readonly name: string;
  readonly body: string;
}

interface SilenceRow {
  readonly id: string;
  readonly account_id: string;
  readonly conditions: string | null;
  readonly selector: string;
  readonly asset_uuid: string | null;
  readonly asset_name: string | null;
  readonly reason: string;
  readonly created_by: string;
  readonly created_at_ms: number;
  readonly ends_at_ms: number;
}

export class SqlAlertSettingsStore implements AlertSettingsStore {
  readonly #executor: Executor;
  readonly #lockAccount: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#lockAccount = lockAccount(executor);
  }

  async readRules(accountId: string): Promise<readonly AlertRule[]> {
    return toRules(await this.#executor.one<RulesRow>(READ_RULES, [accountId]));
  }

  async listLevelRules(
    after: string,
    limit: number,
  ): Promise<readonly { readonly accountId: string; readonly rules: readonly AlertRule[] }[]> {
    const rows = await this.#executor.all<RulesRow & { readonly account_id: string }>(LIST_LEVEL_RULES, [after, limit]);
    return rows.map((row) => ({ accountId: row.account_id, rules: toRules(row).filter(isAboutLevels) }));
  }

  async listRoutes(accountId: string): Promise<readonly NamedRoute[]> {
    return (await this.#executor.all<RouteRow>(LIST_ROUTES, [accountId])).map(toRoute);
  }

  async findChannel(accountId: string, name: string): Promise<StoredChannel | undefined> {
    const row = await this.#executor.one<ChannelRow>(FIND_CHANNEL, [accountId, name]);
    return row && toChannel(row);
  }

  async read(accountId: string): Promise<AlertSettings> {
    return this.#executor.transact(() => readAll(accountId));
  }

  async change(accountId: string, decide: (current: AlertSettings) => SettingsChange | undefined): Promise<void> {
    await this.#locked(accountId, function* (): Work<void> {
      const before = yield* readAll(accountId);
      const after = decide(before);
      if (!after) return;
      const isForLevels = after.rules.some(isAboutLevels);
      yield* change(SET_RULES, [accountId, JSON.stringify(after.rules), isForLevels ? 1 : 0]);
      for (const { name } of before.routes)
        if (!after.routes.some((route) => route.name === name)) yield* change(REMOVE_ROUTE, [accountId, name]);
      for (const { name, body } of after.routes) yield* change(PUT_ROUTE, [accountId, name, JSON.stringify(body)]);
      for (const { name } of before.channels) {
        if (after.channels.some((channel) => channel.name === name)) continue;
        yield* change(REMOVE_CHANNEL, [accountId, name]);
        yield* change(FAIL_WAITING, ["The channel was removed.", accountId, name]);
      }
      for (const channel of after.channels) {
        if (before.channels.includes(channel)) continue;
        const { name, kind, shown, changedAtMs, keyId, sealed } = channel;
        yield* change(PUT_CHANNEL, [accountId, name, kind, JSON.stringify(shown), changedAtMs, keyId, sealed]);
      }
      yield* recordAudit(after.audit);
    });
  }

  async listChannelsNotSealedBy(keyId: string, limit: number): Promise<readonly StoredChannel[]> {
    return (await this.#executor.all<ChannelRow>(LIST_OTHER_KEYS, [keyId, limit])).map(toChannel);
  }

  async resealChannel(accountId: string, name: string, before: Uint8Array, after: Sealed): Promise<boolean> {
    return (await this.#executor.change(RESEAL, [after.keyId, after.sealed, accountId, name, before])) > 0;
  }

  async listSilences(accountId: string, nowMs: number): Promise<readonly Silence[]> {
    return (await this.#executor.all<SilenceRow>(LIST_SILENCES, [accountId, nowMs])).map(toSilence);
  }

  async createSilence(silence: Silence, audit: AuditEntry): Promise<Stored | "no_asset"> {
    const { id, accountId, conditions, selector, asset, reason, createdBy, createdAtMs, endsAtMs } = silence;
    const of = [conditions ? JSON.stringify(conditions) : null, selector, asset?.uuid ?? null];
    const values: Value[] = [id, accountId, ...of, reason, createdBy, createdAtMs, endsAtMs];
    return this.#locked(accountId, function* (): Work<Stored | "no_asset"> {
      yield* change(REMOVE_ENDED, [accountId, createdAtMs]);
      if ((yield* all<SilenceRow>(LIST_SILENCES, [accountId, createdAtMs])).length >= MAX_SILENCES) return "too_many";
      if ((yield* change(INSERT_SILENCE, values)) === 0) return "no_asset";
      yield* recordAudit(audit);
      return "stored";
    });
  }

  async endSilence(accountId: string, id: string, nowMs: number, audit: AuditEntry): Promise<boolean> {
    return this.#executor.transact(function* (): Work<boolean> {
      if ((yield* change(END_SILENCE, [accountId, id, nowMs])) === 0) return false;
      yield* recordAudit(audit);
      return true;
    });
  }

  /** Runs work while no other change of the account's settings does: what is counted stays as it is. */
  async #locked<T>(accountId: string, work: () => Work<T>): Promise<T> {
    const lock = this.#lockAccount;
    return this.#executor.transact(function* (): Work<T> {
      yield* one(lock, [accountId]);
      return yield* work();
    });
  }
}

function* readAll(accountId: string): Work<AlertSettings> {
  const rules = toRules(yield* one<RulesRow>(READ_RULES, [accountId]));
  const routes = (yield* all<RouteRow>(LIST_ROUTES, [accountId])).map(toRoute);
  const channels = (yield* all<ChannelRow>(LIST_CHANNELS, [accountId])).map(toChannel);
  return { rules, routes, channels };
}

function toRules(row: RulesRow | undefined): readonly AlertRule[] {
  return row ? (JSON.parse(row.rules) as AlertRule[]) : [];
}

function toRoute({ name, body }: RouteRow): NamedRoute {
  return { name, body: JSON.parse(body) as AlertRouteBody };
}

function toChannel(row: ChannelRow): StoredChannel {
  return {
    accountId: row.account_id,
    name: row.name,
    kind: row.kind,
    shown: JSON.parse(row.shown) as Record<string, unknown>,
    changedAtMs: row.changed_at_ms,
    failingSinceMs: row.failing_since_ms ?? undefined,
    disabledAtMs: row.disabled_at_ms ?? undefined,
    keyId: row.key_id,
    sealed: row.sealed,
  };
}

function toSilence(row: SilenceRow): Silence {
  return {
    id: row.id,
    accountId: row.account_id,
    conditions: row.conditions === null ? undefined : (JSON.parse(row.conditions) as AlertCondition[]),
    selector: row.selector,
    asset: row.asset_uuid === null ? undefined : { uuid: row.asset_uuid, name: row.asset_name ?? "" },
    reason: row.reason,
    createdBy: row.created_by,
    createdAtMs: row.created_at_ms,
    endsAtMs: row.ends_at_ms,
  };
}
