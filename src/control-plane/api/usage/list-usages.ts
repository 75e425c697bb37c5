import { EdgeError } from "../../../protocol/errors/errors.ts";
import {
  type ListedUsage,
  type UsageList,
  type UsageQuery,
  usageListQuerySchema,
  usageListSchema,
} from "../../../protocol/assets/usage.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { resolveRange } from "../../core/usage-period.ts";
import { toProSimUsage, toSuperSimUsage } from "../../core/usage-view.ts";
import { readUsage } from "../../sims/read-usage.ts";
import type { SimEntry } from "../../store/sims.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { toErrorBody } from "../errors.ts";
import { simCursorOf, simPositionOf } from "../sims/sims.ts";

/** SIMs that are read at once. An operator may have to be asked for each. */
const AT_ONCE = 8;
/** A page ends early after this time, or with so many entries. It has `AT_ONCE` SIMs at least. */
export const MAX_PAGE_MS = 15_000;
export const MAX_PAGE_ENTRIES = 10_000;

/** `GET /v1/usages`: the usage of all SIMs of the account. */
export function listUsages(api: Api, context: ApiContext<"sims">): void {
  const { store, clock } = context;
  api.get(
    "/v1/usages",
    {
      schema: {
        operationId: "listUsages",
        summary: "Get Usages of Account",
        description:
          "Usage of every SIM of the account in bytes, this month by default. A SIM whose usage cannot be read has an `error`, " +
          `and the others do not wait for it. A page may have fewer SIMs than \`limit\`, and a \`next_cursor\`: after ${MAX_PAGE_MS / 1000} ` +
          `seconds, or with ${MAX_PAGE_ENTRIES} entries.`,
        tags: ["Usage"],
        querystring: usageListQuerySchema,
        response: { 200: json("One page of SIMs with their usage.", usageListSchema), ...errors() },
      },
    },
    async (request): Promise<UsageList> => {
      const { limit = DEFAULT_PAGE_SIZE, cursor, granularity, ...requested } = request.query;
      const { start, end } = resolveRange(requested, clock.now());
      const query = { start_time: start, end_time: end, granularity };
      const after = cursor === undefined ? undefined : simPositionOf(cursor);
      const filter = { type: undefined, attention: undefined };
      const found = await store.sims.listSims(accountOf(request), filter, limit + 1, after);
      const sims = await readWhileThereIsTime(context, found.slice(0, limit), query);
      const last = found[sims.length - 1];
      return {
        start_time: start,
        end_time: end,
        sims,
        next_cursor: last && sims.length < found.length ? simCursorOf(last) : null,
      };
    },
  );
}

async function readWhileThereIsTime(
  context: ApiContext<"sims">,
  entries: readonly SimEntry[],
  query: UsageQuery,
): Promise<ListedUsage[]> {
  const { clock } = context;
  const began = clock.monotonic();
  const sims: ListedUsage[] = [];
  let count = 0;
  while (sims.length < entries.length) {
    const next = entries.slice(sims.length, sims.length + AT_ONCE);
    const read = await Promise.all(next.map((entry) => readOne(context, entry, query)));
    sims.push(...read);
    count += read.reduce((sum, each) => sum + ("usages" in each ? each.usages.length : 0), 0);
    if (count >= MAX_PAGE_ENTRIES || clock.monotonic() - began >= MAX_PAGE_MS) break;
  }
  return sims;
}

async function readOne(
  context: ApiContext<"sims">,
  { asset, type }: SimEntry,
  query: UsageQuery,
): Promise<ListedUsage> {
  const sim = {
    asset_id: asset.uuid,
    asset_name: asset.name,
    serial_number: asset.serialNumber,
    sim_type: type,
    iccid: asset[type]?.iccid ?? "",
  };
  try {
    const usage = await readUsage(context, asset, type, query);
    const { usages, finalized_until, as_of } = type === "supersim" ? toSuperSimUsage(usage) : toProSimUsage(usage);
    return { ...sim, finalized_until, ...(as_of !== undefined && { as_of }), usages };
  } catch (error) {
    if (!(error instanceof EdgeError) || error.code === "ServiceUnavailable") throw error;
    const { code, message, details } = toErrorBody(error);
    return { ...sim, error: { code, message, ...(details && { details: { ...details } }) } };
  }
}
