import { unixNow } from "../../../lib/clock.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import {
  type AssetUptime,
  assetUptimeSchema,
  type ListedUptime,
  MAX_HISTORY_DAYS,
  MAX_SUMMARY_DAYS,
  type UptimeBody,
  type UptimeList,
  uptimeListQuerySchema,
  uptimeListSchema,
  uptimeQuerySchema,
} from "../../../protocol/assets/connectivity.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { SelectorTerm } from "../../../protocol/fleets/selector.ts";
import { termsOfSelector } from "../../core/selector-terms.ts";
import { decodeAssetCursor, encodeAssetCursor } from "../../core/cursor.ts";
import { type HistoryRange, periodsOf, type Uptime, uptimesOf } from "../../core/connectivity.ts";
import type { Store } from "../../store/store.ts";
import { assetParams, findAsset, stateTime } from "../asset-resource.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors } from "../docs/responses.ts";
import { nextCursorOf } from "../paging.ts";
import { MAX_CSV_ROWS } from "./connectivity.ts";
import { csvTime, toCsv } from "../../../lib/csv.ts";
import { jsonOrCsv, sendCsv, wantsCsv } from "./csv.ts";
import { resolveHistoryRange } from "./range.ts";

const FIGURES = ["known_s", "connected_s", "uptime_percent", "disconnections", "longest_gap_s"] as const;
const PERIOD_COLUMNS = ["from", "to", ...FIGURES] as const;
const ASSET_COLUMNS = ["asset_id", "asset_name", "serial_number", ...FIGURES] as const;
const PERIOD_EXAMPLE = `${PERIOD_COLUMNS.join(",")}\r\n2026-11-20T00:00:00Z,2026-11-21T00:00:00Z,86400,82800,95.83,1,3600\r\n`;
const ASSET_EXAMPLE = `${ASSET_COLUMNS.join(",")}\r\n00000000-0000-4000-8000-000000000000,Pump 7,GW-1,86400,82800,95.83,1,3600\r\n`;
const ORDER = "created_at";
const NEXT_CURSOR_HEADER = "X-Next-Cursor";

/** `GET /v1/assets/{asset_id}/uptime`: how long the device was connected, by day, week or month. */
export function getUptime(api: Api, { store, clock }: ApiBase): void {
  api.get(
    "/v1/assets/:asset_id/uptime",
    {
      schema: {
        operationId: "getUptime",
        summary: "Uptime",
        description:
          "How long the device was connected, in the range and in each day, week or month of it (UTC), and " +
          "the longest time without a connection. Time before the first connection counts as neither, time " +
          "in which the service did not run as not connected.",
        tags: ["History"],
        params: assetParams,
        querystring: uptimeQuerySchema,
        response: {
          200: jsonOrCsv("The figures, or the table of the periods.", assetUptimeSchema, PERIOD_EXAMPLE),
          ...errors("AssetNotFound"),
        },
      },
    },
    async (request, reply) => {
      const { per, format } = request.query;
      const { uuid } = await findAsset(store, request, request.params.asset_id);
      const range = resolveHistoryRange(request.query, unixNow(clock), MAX_HISTORY_DAYS);
      const intervals = await store.connectivity.list(uuid, range, MAX_CSV_ROWS);
      const periods = uptimesOf(intervals, periodsOf(range, per)).map(toUptimeBody);
      if (wantsCsv(format, request.headers.accept)) return sendCsv(reply, toCsv(PERIOD_COLUMNS, periods.map(rowOf)));
      const total = uptimesOf(intervals, [range]).map(toUptimeBody)[0] ?? toUptimeBody({ ...range, ...NOTHING });
      const body: AssetUptime = { asset_id: uuid, total, periods };
      return body;
    },
  );
}

/** `GET /v1/uptime`: how long the devices of assets were connected. */
export function listUptimes(api: Api, context: ApiBase): void {
  const { store, clock } = context;
  api.get(
    "/v1/uptime",
    {
      schema: {
        operationId: "listUptimes",
        summary: "Uptime of Assets",
        description:
          "How long the device of each asset was connected, in the order of registration: of the assets that a selector or a fleet " +
          "matches now, or of all.",
        tags: ["History"],
        querystring: uptimeListQuerySchema,
        response: {
          200: jsonOrCsv("One page of assets, also as a table.", uptimeListSchema, ASSET_EXAMPLE, {
            [NEXT_CURSOR_HEADER]: {
              type: "string",
              description: "Of a table: cursor of the next page; absent on the last one.",
            },
          }),
          ...errors("FleetNotFound"),
        },
      },
    },
    async (request, reply) => {
      const { limit = DEFAULT_PAGE_SIZE, cursor, selector, fleet, format } = request.query;
      const accountId = accountOf(request);
      const range = resolveHistoryRange(request.query, unixNow(clock), MAX_SUMMARY_DAYS);
      const terms = [
        ...(selector === undefined ? [] : termsOfSelector(selector)),
        ...(fleet === undefined ? [] : await termsOfFleet(store, accountId, fleet)),
      ];
      const after = cursor === undefined ? undefined : decodeAssetCursor(ORDER, cursor);
      const filter = { status: undefined, type: undefined, text: undefined, selector: terms };
      const page = await store.assets.listAssets(accountId, filter, limit, after, stateTime(context));
      const assets: ListedUptime[] = [];
      for (const { asset } of page.assets) {
        const { from: _from, to: _to, ...figures } = await readUptime(store, asset.uuid, range);
        assets.push({ asset_id: asset.uuid, asset_name: asset.name, serial_number: asset.serialNumber, ...figures });
      }
      const next = page.next ? encodeAssetCursor(ORDER, page.next) : null;
      if (wantsCsv(format, request.headers.accept)) {
        if (next !== null) reply.header(NEXT_CURSOR_HEADER, nextCursorOf(request, next, range));
        return sendCsv(
          reply,
          toCsv(
            ASSET_COLUMNS,
            assets.map((asset) => ASSET_COLUMNS.map((name) => asset[name])),
          ),
        );
      }
      const body: UptimeList = { ...range, assets, next_cursor: next };
      return body;
    },
  );
}

const NOTHING = { knownS: 0, connectedS: 0, disconnections: 0, longestGapS: 0 };

async function termsOfFleet(store: Store, accountId: string, name: string): Promise<readonly SelectorTerm[]> {
  // No name has one, and databases refuse it.
  const fleet = name.includes("\0") ? undefined : await store.fleets.findFleet(accountId, name);
  if (!fleet) throw new EdgeError("FleetNotFound");
  return termsOfSelector(fleet.selector);
}

async function readUptime(store: Store, assetUuid: string, range: HistoryRange): Promise<UptimeBody> {
  // An asset may have thousands of intervals, which a file is read for without a pause.
  await new Promise(setImmediate);
  const intervals = await store.connectivity.list(assetUuid, range, MAX_CSV_ROWS);
  return toUptimeBody(uptimesOf(intervals, [range])[0] ?? { ...range, ...NOTHING });
}

function toUptimeBody({ from, to, knownS, connectedS, disconnections, longestGapS }: Uptime): UptimeBody {
  return {
    from,
    to,
    known_s: knownS,
    connected_s: connectedS,
    uptime_percent: knownS === 0 ? null : Math.floor((connectedS * 10_000) / knownS) / 100,
    disconnections,
    longest_gap_s: longestGapS,
  };
}

function rowOf(period: UptimeBody) {
  return PERIOD_COLUMNS.map((name) => (name === "from" || name === "to" ? csvTime(period[name]) : period[name]));
}
