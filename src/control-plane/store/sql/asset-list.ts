import type { AssetOrder } from "../../../protocol/assets/asset-request.ts";
import type { AssetCursor } from "../../core/cursor.ts";
import { BUDGET_BIT, REASON_BITS } from "../../core/attention.ts";
import {
  type AssetFilter,
  type AssetPage,
  type AssetWithState,
  MAX_SCANNED_ASSETS,
  type StateTime,
} from "../assets.ts";
import { type Criterion, criteriaOf, FIRST_PARAMETERS } from "./asset-criteria.ts";
import { ASSET_COLUMNS, ASSET_JOINS, renewalOffset, STATE_JOIN, stateColumns, toAssetWithState } from "./asset-row.ts";
import type { Dialect } from "./dialect.ts";
import type { Executor } from "./executor.ts";
import { tagTermsOf } from "./selector-sql.ts";
import type { Value } from "./statement.ts";

/** How an order is read from an index, and what comes before all of it. */
interface IndexOrder {
  readonly column: "created_at" | "updated_at";
  readonly direction: "ASC" | "DESC";
  readonly start: AssetCursor;
}

const FIRST: AssetCursor = { at: -1, uuid: "" };
const LAST: AssetCursor = { at: Number.MAX_SAFE_INTEGER, uuid: "" };
const ORDERS: Readonly<Record<AssetOrder, IndexOrder>> = {
  created_at: { column: "created_at", direction: "ASC", start: FIRST },
  "-created_at": { column: "created_at", direction: "DESC", start: LAST },
  updated_at: { column: "updated_at", direction: "ASC", start: FIRST },
  "-updated_at": { column: "updated_at", direction: "DESC", start: LAST },
};

/** What an index in the order of the list has: all assets of an account, or those that meet a criterion. */
interface Source {
  readonly name: string;
  /** Alias of the table that has the index: `a` of `assets`, or `t` of `asset_states`. */
  readonly alias: "a" | "t";
  /** Words of the index. */
  readonly where: string;
  /** Name of a criterion that all of them meet. */
  readonly met?: string;
}

const ALL: Source = { name: "", alias: "a", where: "" };
const BY_STATUS = {
  active: { name: "active", alias: "a", where: " AND a.is_active = 1", met: "status" },
  inactive: { name: "inactive", alias: "a", where: " AND a.is_active = 0", met: "status" },
} as const satisfies Record<string, Source>;
const CONNECTED: Source = { name: "connected", alias: "t", where: " AND t.instance_id IS NOT NULL" };
const WITH_REASONS: Source = { name: "reasons", alias: "t", where: " AND t.reasons <> 0" };

/** Returns the source with the fewest assets that has all that the filter lets through, but for those that are not seen any more. */
export function sourceOf({ order = "created_at", attention, connected, status }: AssetFilter): Source {
  // An index for the other order as well would be written with every connection.
  if (ORDERS[order].column === "updated_at") return ALL;
  if (attention !== undefined && attention !== "not_seen") return WITH_REASONS;
  if (connected === true) return CONNECTED;
  return status === undefined ? ALL : BY_STATUS[status];
}

const TABLES = { a: "assets a", t: "asset_states t" } as const;
const JOINS = {
  a: `${ASSET_JOINS} ${STATE_JOIN}`,
  t: `JOIN assets a ON a.uuid = t.asset_uuid ${ASSET_JOINS}`,
} as const;
const UUIDS = { a: "a.uuid", t: "t.asset_uuid" } as const;

/** So many assets are looked at one by one for a page, where all that match are known to be among them. */
const MAX_FEW = 1_000;

/** The first assets that are looked at are so many times those that the page may have; each further time as many times more. */
const FIRST_WINDOW = 4;

/** Which assets of a source a page is read from: all, those up to a position of the order, or a few of any by their UUIDs. */
type Among = "all" | "window" | "few";

/**
 * Returns the statement for one page of an account's assets that are filtered by these criteria: a range scan of the index
 * of the order, or, `among` few assets, a look at each of them. Its parameters are the account, the cursor, the service time,
 * `renewalOffset`, those of each criterion, the end of the window or those few, and the limit.
 */
export function listSql(
  criteria: readonly Criterion[],
  dialect: Dialect,
  order: AssetOrder = "created_at",
  among: Among = "all",
  { alias, where }: Source = ALL,
): string {
  const { column, direction } = ORDERS[order];
  const uuid = UUIDS[alias];
  let next = FIRST_PARAMETERS + 1;
  const conditions = criteria.map(({ condition, values }) => {
    const first = next;
    next += values.length;
    return ` AND ${condition(first, dialect)}`;
  });
  // As expressions, so that neither database reads the index of the order to its end for them.
  const [account, time] =
    among === "few"
      ? ["coalesce(a.account_id, '')", `(${alias}.${column} + 0)`]
      : [`${alias}.account_id`, `${alias}.${column}`];
  if (among === "few") conditions.push(` AND a.uuid IN ${dialect.jsonTexts(`?${next++}`)}`);
  if (among === "window") {
    const comparison = direction === "ASC" ? "<=" : ">=";
    conditions.push(` AND (${time}, ${uuid}) ${comparison} (?${next++}, ?${next++})`);
  }
  return /* sql */ `
    SELECT ${ASSET_COLUMNS}, ${stateColumns("?4", "?5")} FROM ${TABLES[alias]} ${JOINS[alias]}
    WHERE ${account} = ?1${where} AND (${time}, ${uuid}) ${direction === "ASC" ? ">" : "<"} (?2, ?3)${conditions.join("")}
    ORDER BY ${time} ${direction}, ${uuid} ${direction} LIMIT ?${next}`;
}

/** The position before all that the filter may let through. */
function startOf(order: AssetOrder, { updatedSince }: AssetFilter): AssetCursor {
  return order === "updated_at" && updatedSince !== undefined ? { at: updatedSince, uuid: "" } : ORDERS[order].start;
}

/** Reads so many assets of a source after a position. */
type Read = (
  source: Source,
  among: Among,
  from: AssetCursor,
  values: readonly Value[],
  count: number,
) => Promise<readonly AssetWithState[]>;

/**
 * The instances that hold sessions and have died: mostly none. Each step of the recursion finds the next instance in the index,
 * whose entries are as many as devices are connected.
 */
const DEAD_HOLDERS = /* sql */ `
  WITH RECURSIVE held (id) AS (
    SELECT min(s.instance_id) FROM device_sessions s WHERE s.instance_id IS NOT NULL
    UNION ALL
    SELECT (SELECT min(s.instance_id) FROM device_sessions s WHERE s.instance_id > held.id) FROM held WHERE held.id IS NOT NULL)
  SELECT id FROM held WHERE id IS NOT NULL AND id NOT IN (SELECT i.id FROM instances i WHERE i.lease_until_ms > ?1)`;

/** The lists of assets, with a statement for each set of criteria. */
export class AssetList {
  readonly #executor: Executor;
  readonly #maxFew: number;
  readonly #maxScanned: number;
  readonly #statements = new Map<string, string>();

  constructor(executor: Executor, maxFew: number = MAX_FEW, maxScanned: number = MAX_SCANNED_ASSETS) {
    this.#executor = executor;
    this.#maxFew = maxFew;
    this.#maxScanned = maxScanned;
  }

  /** Returns at most `limit` assets after the cursor, fewer if `MAX_SCANNED_ASSETS` is reached. */
  async page(
    accountId: string,
    filter: AssetFilter,
    time: StateTime,
    limit: number,
    after: AssetCursor | undefined,
  ): Promise<AssetPage> {
    const criteria = criteriaOf(filter, time);
    const order = filter.order ?? "created_at";
    const start = after ?? startOf(order, filter);
    const read: Read = async (source, among, from, values, count) => {
      const first: Value[] = [accountId, from.at, from.uuid, time.serviceNowMs, renewalOffset(time)];
      // What all of a source meet is not asked again: PostgreSQL would expect fewer of them, and read them all.
      const asked = criteria.filter(({ name }) => name !== source.met);
      const parameters = [...first, ...asked.flatMap((each) => each.values), ...values, count];
      const rows = await this.#executor.allValues(this.#statement(asked, order, among, source), parameters);
      return rows.map(toAssetWithState);
    };
    // One more than the page holds shows whether there is another page.
    const readFew = (uuids: readonly string[]) => read(ALL, "few", start, [JSON.stringify(uuids)], limit + 1);
    const source = sourceOf(filter);
    if (criteria.every(({ name, isEnd = false }) => isEnd || name === source.met))
      return toPage(await read(source, "all", start, [], limit + 1), limit, order);
    const few = await this.#findFew(accountId, source === CONNECTED ? { ...filter, connected: undefined } : filter);
    if (few) return toPage(await readFew(few), limit, order);
    if (filter.attention !== "any" || source === ALL) return this.#walk(read, accountId, filter, source, start, limit);
    // No bit says that an asset is not seen any more.
    const notSeen = await this.#findNotSeen(accountId, time);
    if (!notSeen) return this.#walk(read, accountId, filter, ALL, start, limit);
    const page = await this.#walk(read, accountId, filter, source, start, limit);
    return notSeen.length === 0 ? page : merge(page, await readFew(notSeen), limit, order);
  }

  /** Reads a page in the order of the source, of which it looks at so many at most. */
  async #walk(
    read: Read,
    accountId: string,
    filter: AssetFilter,
    source: Source,
    start: AssetCursor,
    limit: number,
  ): Promise<AssetPage> {
    const order = filter.order ?? "created_at";
    const found: AssetWithState[] = [];
    let from = start;
    // Where nearly all match, a few more than the page holds are looked at; where few do, ever more, up to the limit.
    for (let scanned = 0, window = limit * FIRST_WINDOW; ; window *= FIRST_WINDOW) {
      const count = Math.min(window, this.#maxScanned - scanned);
      const end = await this.#positionAt(accountId, filter, source, from, count - 1);
      const missing = limit + 1 - found.length;
      const among = end ? "window" : "all";
      found.push(...(await read(source, among, from, end ? [end.at, end.uuid] : [], missing)));
      scanned += count;
      if (!end || found.length > limit) return toPage(found, limit, order);
      if (scanned >= this.#maxScanned) return { assets: found, next: end };
      from = end;
    }
  }

  /** Returns the position of the asset that comes after so many others of the source; `undefined` if there are not so many. */
  async #positionAt(
    accountId: string,
    { order = "created_at", updatedSince }: AssetFilter,
    { alias, where }: Source,
    { at, uuid }: AssetCursor,
    offset: number,
  ): Promise<AssetCursor | undefined> {
    const { column, direction } = ORDERS[order];
    const [timeOf, uuidOf] = [`${alias}.${column}`, UUIDS[alias]];
    const since = order === "-updated_at" ? updatedSince : undefined;
    return this.#executor.one<AssetCursor>(
      `SELECT ${timeOf} AS at, ${uuidOf} AS uuid FROM ${TABLES[alias]}
       WHERE ${alias}.account_id = ?1${where} AND (${timeOf}, ${uuidOf}) ${direction === "ASC" ? ">" : "<"} (?2, ?3)
         ${since === undefined ? "" : "AND a.updated_at >= ?5"}
       ORDER BY ${timeOf} ${direction}, ${uuidOf} ${direction} LIMIT 1 OFFSET ?4`,
      [accountId, at, uuid, offset, ...(since === undefined ? [] : [since])],
    );
  }

  /**
   * Returns the assets that meet a criterion which few do, and among which all are that the filter matches; `undefined` if each
   * criterion has many, or no index: so many assets of the list match then that reading it in its order mostly soon finds a page.
   */
  async #findFew(accountId: string, filter: AssetFilter): Promise<readonly string[] | undefined> {
    for (const candidates of fewCandidates(filter, this.#executor.dialect)) {
      const found = await this.#candidates(accountId, candidates);
      if (found) return found;
    }
    return undefined;
  }

  /** Returns all assets that may not be seen any more; `undefined` if they are many. */
  async #findNotSeen(
    accountId: string,
    { notSeenBefore, serviceNowMs }: StateTime,
  ): Promise<readonly string[] | undefined> {
    const away = await this.#candidates(
      accountId,
      ofState("t.instance_id IS NULL AND t.last_seen_at < ?2", [notSeenBefore]),
    );
    const dead = await this.#executor.all<{ readonly id: string }>(DEAD_HOLDERS, [serviceNowMs]);
    if (!away || dead.length === 0) return away;
    const sql = /* sql */ `
      SELECT t.asset_uuid AS uuid FROM device_sessions s JOIN asset_states t ON t.asset_uuid = s.asset_uuid
      WHERE t.account_id = ?1 AND ${this.#executor.dialect.isOneOf("s.instance_id", "?2")}`;
    const held = await this.#candidates(accountId, { sql, values: [JSON.stringify(dead.map(({ id }) => id))] });
    return held && [...away, ...held];
  }

  async #candidates(accountId: string, { sql, values }: Candidates): Promise<readonly string[] | undefined> {
    const found = await this.#executor.all<{ readonly uuid: string }>(`${sql} LIMIT ${this.#maxFew + 1}`, [
      accountId,
      ...values,
    ]);
    return found.length <= this.#maxFew ? found.map(({ uuid }) => uuid) : undefined;
  }

  /** Kept, so that the executor finds the prepared one quickly. */
  #statement(criteria: readonly Criterion[], order: AssetOrder, among: Among, source: Source): string {
    const name = [among, order, source.name, ...criteria.map((criterion) => criterion.name)].join(" ");
    const sql = this.#statements.get(name) ?? listSql(criteria, this.#executor.dialect, order, among, source);
    this.#statements.set(name, sql);
    return sql;
  }
}

/** The page of these assets, of which there is one more than it holds if another page follows. */
function toPage(found: readonly AssetWithState[], limit: number, order: AssetOrder): AssetPage {
  const assets = found.slice(0, limit);
  const last = found.length > limit ? assets.at(-1) : undefined;
  return { assets, next: last && positionOf(last, order) };
}

/** The page of the assets that are in one of two lists, or in both. The other list begins as the page does. */
function merge(
  { assets, next }: AssetPage,
  others: readonly AssetWithState[],
  limit: number,
  order: AssetOrder,
): AssetPage {
  const compare = (a: AssetCursor, b: AssetCursor): number =>
    (a.at - b.at || (a.uuid < b.uuid ? -1 : Number(a.uuid > b.uuid))) * (ORDERS[order].direction === "ASC" ? 1 : -1);
  // The page has nothing after its end, whether or not it is full.
  const within = next ? others.filter((each) => compare(positionOf(each, order), next) <= 0) : others;
  const byUuid = new Map([...assets, ...within].map((each) => [each.asset.uuid, each]));
  const merged = [...byUuid.values()].toSorted((a, b) => compare(positionOf(a, order), positionOf(b, order)));
  return merged.length > limit ? toPage(merged, limit, order) : { assets: merged, next };
}

function positionOf({ asset, state }: AssetWithState, order: AssetOrder): AssetCursor {
  return { at: order.endsWith("updated_at") ? state.updatedAt : asset.createdAt, uuid: asset.uuid };
}

interface Candidates {
  readonly sql: string;
  /** After the account. */
  readonly values: readonly Value[];
}

function ofState(condition: string, values: readonly Value[] = []): Candidates {
  return { sql: `SELECT t.asset_uuid AS uuid FROM asset_states t WHERE t.account_id = ?1 AND ${condition}`, values };
}

/** Statements that each read from an index the assets that meet one criterion of a filter. */
export function fewCandidates(filter: AssetFilter, dialect: Dialect): readonly Candidates[] {
  const { type, connected, attention, accepted, agentVersion, selector = [] } = filter;
  const isBit = attention !== undefined && attention !== "any" && attention !== "not_seen";
  return [
    ...tagTermsOf(selector).map(({ key, values }) => ({
      sql: `SELECT g.asset_uuid AS uuid FROM asset_tags g
        WHERE g.account_id = ?1 AND g.key = ?2 AND ${dialect.isOneOf("g.value", "?3")}`,
      values: [key, JSON.stringify(values)],
    })),
    ...(type === undefined
      ? []
      : [{ sql: "SELECT a.uuid AS uuid FROM assets a WHERE a.account_id = ?1 AND a.type = ?2", values: [type] }]),
    ...(agentVersion === undefined ? [] : [ofState("t.agent_version = ?2", [agentVersion])]),
    ...(accepted === false ? [ofState("t.accepted_at IS NULL")] : []),
    ...(connected === true ? [ofState("t.instance_id IS NOT NULL")] : []),
    // As many are looked at as need attention for any reason.
    ...(isBit
      ? [
          ofState(
            `t.reasons <> 0 AND (t.reasons & ${attention === "data_budget_spent" ? BUDGET_BIT : REASON_BITS[attention]}) <> 0`,
          ),
        ]
      : []),
  ];
}
