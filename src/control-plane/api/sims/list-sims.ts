import { unixNow } from "../../../lib/clock.ts";
import { type SimList, simListQuerySchema, simListSchema } from "../../../protocol/assets/sim-list.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { toSimBody } from "./sim-body.ts";
import { simCursorOf, simPositionOf } from "./sim-position.ts";

/** `GET /v1/sims`: the SIMs of the account's assets. */
export function listSims(api: Api, { store, clock }: ApiBase): void {
  api.get(
    "/v1/sims",
    {
      schema: {
        operationId: "listSims",
        summary: "Get SIMs",
        description:
          "The SIMs of the account's assets, with what their operators said of them last. No operator is asked for it.",
        tags: ["Assets"],
        querystring: simListQuerySchema,
        response: { 200: json("One page of SIMs.", simListSchema), ...errors() },
      },
    },
    async (request): Promise<SimList> => {
      const { type, attention, limit = DEFAULT_PAGE_SIZE, cursor } = request.query;
      const after = cursor === undefined ? undefined : simPositionOf(cursor);
      const found = await store.sims.listSims(accountOf(request), { type, attention }, limit + 1, after);
      const now = unixNow(clock);
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      return { sims: page.map((entry) => toSimBody(entry, now)), next_cursor: last ? simCursorOf(last) : null };
    },
  );
}
