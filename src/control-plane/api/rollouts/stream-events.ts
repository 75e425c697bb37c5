import { z } from "zod";
import { type RolloutEvent, rolloutEventSchema } from "../../../protocol/fleets/rollout.ts";
import { integerString } from "../../../protocol/values/scalars.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, messages } from "../docs/responses.ts";
import { formatBatches, sendTexts } from "../event-stream.ts";
import { lastEventIdHeaders, NO_MORE_EVENTS, resumedAfter } from "../resume-stream.ts";
import { streamSignal } from "../stream-signal.ts";
import { findRollout, rolloutParams } from "./rollout-resource.ts";

/** Databases store it in eight bytes; a rollout has far fewer events. */
const MAX_SEQ = 2_147_483_647;

const query = z.strictObject({
  after: integerString(0, MAX_SEQ)
    .default(0)
    .meta({ description: "`seq` of the last event received; 0 for all events." }),
});

const EXAMPLE: RolloutEvent = {
  status: "Success",
  message: "All assets run revision 3.",
  rollout_id: "rol_018cc251f400a1b2c3d4e5f60718293a4b5c6d7",
  seq: 7,
  timestamp: 1_795_178_868,
  state: "succeeded",
  wave: 2,
  counts: { succeeded: 12 },
  waiting_for: [],
  waits_for_people: false,
};

/** `GET /v1/fleets/{fleet}/rollouts/{rollout_id}/events`: past and new events of a rollout until the final one. */
export function streamRolloutEvents(api: Api, context: ApiContext<"accounts" | "fleets" | "streams">): void {
  const { store, fleets, streams } = context;
  api.get(
    "/v1/fleets/:fleet/rollouts/:rollout_id/events",
    {
      exposeHeadRoute: false,
      schema: {
        operationId: "streamRolloutEvents",
        summary: "Rollout Events",
        description: "Past and new events, with the number of targets by state, until the final one.",
        tags: ["Rollouts"],
        params: rolloutParams,
        querystring: query,
        headers: lastEventIdHeaders(MAX_SEQ),
        response: {
          200: {
            description:
              "Each event is a line of `id:` with its `seq`, and one of `data:`. When the connection ends before the final event, the client goes on with `after` or `Last-Event-ID`.",
            content: { "text/event-stream": messages(rolloutEventSchema, [EXAMPLE]) },
          },
          204: NO_MORE_EVENTS,
          ...errors("FleetNotFound", "RolloutNotFound"),
        },
      },
    },
    async (request, reply) => {
      const { rollout } = await findRollout(store, request);
      const after = resumedAfter(request, request.query.after);
      const { events, isOver } = await store.rollouts.readEvents(rollout.id, after, 1);
      if (isOver && events.length === 0) return reply.code(204).send();
      streams.limiter.acquireForAccount(request, reply);
      const signals = { drain: context.stopping, signal: streamSignal(request, reply, context) };
      const texts = formatBatches(fleets.events(rollout, after, signals), true);
      return sendTexts(reply, streams.limiter.withStallTimeout(request, reply, texts));
    },
  );
}
