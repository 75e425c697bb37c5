import { unixNow } from "../../../lib/clock.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import {
  type ConnectivityBody,
  connectivityQuerySchema,
  connectivitySchema,
  type ConnectivitySpanBody,
  MAX_HISTORY_DAYS,
} from "../../../protocol/assets/connectivity.ts";
import { type ConnectivitySpan, type HistoryRange, spansOf } from "../../core/connectivity.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "../../core/cursor.ts";
import { CONNECTIVITY_KEPT_DAYS, MAX_INTERVALS_PER_DAY } from "../../store/connectivity.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors } from "../docs/responses.ts";
import { csvTime, toCsv } from "../../../lib/csv.ts";
import { jsonOrCsv, sendCsv, wantsCsv } from "./csv.ts";
import { resolveHistoryRange } from "./range.ts";

const COLUMNS = ["state", "from", "to", "duration_s", "reason", "takeovers", "interruptions", "interrupted_s"] as const;
const EXAMPLE = `${COLUMNS.join(",")}\r\nconnected,2026-11-20T10:00:00Z,2026-11-20T11:00:00Z,3600,,0,0,0\r\n`;
/** Those of the longest range, with a part for each end of one. */
export const MAX_CSV_ROWS = 2 * MAX_INTERVALS_PER_DAY * (MAX_HISTORY_DAYS + 1);

/** `GET /v1/assets/{asset_id}/connectivity`: when the device was connected, and why not otherwise. */
export function getConnectivity(api: Api, { store, clock }: ApiBase): void {
  api.get(
    "/v1/assets/:asset_id/connectivity",
    {
      schema: {
        operationId: "getConnectivity",
        summary: "Connectivity",
        description:
          "When the device was connected, and why it was not otherwise, the newest first, by what the service has on record: kept for " +
          `${CONNECTIVITY_KEPT_DAYS} days. A device that is back within a minute was not away, and of one that has already connected ` +
          `${MAX_INTERVALS_PER_DAY} times on a day (UTC) later interruptions of the day are counted only. As CSV the whole range, in ` +
          "one response.",
        tags: ["History"],
        params: assetParams,
        querystring: connectivityQuerySchema,
        response: {
          200: jsonOrCsv("One page, or the table.", connectivitySchema, EXAMPLE),
          ...errors("AssetNotFound"),
        },
      },
    },
    async (request, reply) => {
      const { limit = DEFAULT_PAGE_SIZE, cursor, format } = request.query;
      const { uuid } = await findAsset(store, request, request.params.asset_id);
      const now = unixNow(clock);
      const range = resolveHistoryRange(request.query, now, MAX_HISTORY_DAYS);
      if (wantsCsv(format, request.headers.accept)) {
        const spans = spansOf(await store.connectivity.list(uuid, range, MAX_CSV_ROWS), range);
        return sendCsv(
          reply,
          toCsv(
            COLUMNS,
            spans.map((span) => rowOf(toBody(span, now))),
          ),
        );
      }
      const rest = cursor === undefined ? range : { from: range.from, to: positionOf(cursor, range) };
      // Each interval makes a span, and the time after it may be another.
      const spans = spansOf(await store.connectivity.list(uuid, rest, limit + 1), rest);
      const page = spans.slice(0, limit);
      const last = spans.length > limit ? page.at(-1) : undefined;
      const body: ConnectivityBody = {
        asset_id: uuid,
        ...range,
        spans: page.map((span) => toBody(span, now)),
        next_cursor: last ? encodeCursor(String(last.from)) : null,
      };
      return body;
    },
  );
}

/** Error: `InvalidRequest` for a cursor of another list or range. */
function positionOf(cursor: string, { from, to }: HistoryRange): number {
  const text = decodeCursor(cursor);
  const position = /^[0-9]{1,12}$/.test(text) ? Number(text) : undefined;
  if (position === undefined || position <= from || position > to) throw invalidCursor();
  return position;
}

function toBody(span: ConnectivitySpan, now: number): ConnectivitySpanBody {
  const { state, from, to } = span;
  const body = { state, from, to: span.isOpen && to === now ? null : to, duration_s: to - from };
  if (span.state === "disconnected") return { ...body, ...(span.reason && { reason: span.reason }) };
  const { takeovers, interruptions, interruptedS, longestInterruptionS } = span.interval;
  const swallowed = { interruptions, interrupted_s: interruptedS, longest_interruption_s: longestInterruptionS };
  return { ...body, takeovers, ...swallowed };
}

function rowOf(span: ConnectivitySpanBody) {
  const { state, from, to, duration_s: seconds, reason, takeovers, interruptions, interrupted_s: interrupted } = span;
  return [state, csvTime(from), csvTime(to), seconds, reason, takeovers, interruptions, interrupted];
}
