import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { type PriceEvent, priceEventSchema } from "../../../protocol/fleets/rollout-price.ts";
import { type RolloutRequest, rolloutRequestSchema, rolloutSchema } from "../../../protocol/fleets/rollout.ts";
import { booleanString } from "../../../protocol/values/scalars.ts";
import type { Fleet } from "../../core/fleets/fleet.ts";
import type { StoredPlan } from "../../core/fleets/waves.ts";
import type { RolloutPlan } from "../../fleets/plan-rollout.ts";
import { toForeseenBody } from "../../fleets/price-rollout.ts";
import type { Store } from "../../store/store.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { errorsWithBody, json, messages } from "../docs/responses.ts";
import { formatEvent, sendTexts } from "../event-stream.ts";
import {
  findFleet,
  fleetParams,
  requesterOf,
  requireAgentUpdatesOf,
  requireWaiver,
  waivesApproval,
} from "../fleets/fleet-resource.ts";
import { auditOf } from "../audit/audit-of.ts";
import { idempotencyHeaders, idempotencyKeyOf } from "../idempotency-key.ts";
import { streamSignal } from "../stream-signal.ts";
import { toPublicError } from "../errors.ts";
import { toRolloutBody } from "./rollout-resource.ts";

const headers = idempotencyHeaders(
  "A repeated request returns the rollout of the first one; a different request with the same key is refused with " +
    "`IdempotencyKeyReused`. A key counts for one fleet and all clients of the account, and is remembered for the fleet's newest " +
    "100 rollouts. With `dry_run` it has no effect.",
);

const query = z.strictObject({
  dry_run: booleanString().default(false).meta({
    description: "Makes a plan in place of a rollout, and asks every connected member what it would download.",
  }),
  ask_devices: booleanString()
    .default(true)
    .meta({ description: "With `dry_run`: whether members are asked. Otherwise the plan only is made and shown." }),
});

const EXAMPLE: readonly PriceEvent[] = [
  {
    status: "Success",
    message: "0 of 0 assets would download 0 bytes.",
    seq: 1,
    timestamp: 1_795_178_868,
    details: {
      revision: 3,
      waves: [{ wave: 1, targets: 0 }],
      targets: 0,
      asked: 0,
      not_asked: 0,
      refused: 0,
      download_bytes: 0,
      foreseen: { waiting_for: [], refused: 0, left: 0, joined: 0 },
      plan_id: "pln_2f6c1d9e8a7b4c3d5e6f7a8b",
      expires_at: 1_795_783_668,
    },
  },
];

/** `POST /v1/fleets/{fleet}/rollouts`: makes a rollout, or with `dry_run` asks what it would cost. */
export function createRollout(api: Api, context: ApiContext<"accounts" | "fleets" | "streams">): void {
  const { store, fleets } = context;
  api.post(
    "/v1/fleets/:fleet/rollouts",
    {
      schema: {
        operationId: "createRollout",
        summary: "Create Rollout",
        description:
          "Brings a revision to the members of the fleet, wave by wave. It supersedes the rollout that is under way. With `dry_run`, " +
          "the response is a stream: an event for each member as it answers, with its wave, then one with the sums in `details`, and the `plan_id` " +
          "from which a rollout with just these waves can be made. Members that are not connected, or wait for people, are not " +
          "asked. An account keeps its newest 20 plans for seven days. Not to require the approval that the fleet requires takes the permission " +
          "`fleets.waive_approval`, and to roll out a revision with `agent` takes `agents.update`.",
        tags: ["Rollouts"],
        params: fleetParams,
        querystring: query,
        headers,
        body: rolloutRequestSchema,
        response: {
          200: {
            description: "With `dry_run`: each non-empty line is `data:` and one event.",
            content: { "text/event-stream": messages(priceEventSchema, EXAMPLE) },
          },
          201: json("The rollout.", rolloutSchema),
          ...errorsWithBody(
            "FleetNotFound",
            "RevisionNotFound",
            "PlanNotFound",
            "RolloutStateConflict",
            "IdempotencyKeyReused",
          ),
        },
      },
    },
    async (request, reply) => {
      const fleet = await findFleet(store, request);
      const planned = await planOf(store, request.body);
      if (waivesApproval(fleet, planned ? planned.strategy : request.body.strategy)) requireWaiver(request);
      const number = planned?.revision ?? request.body.revision ?? fleet.lastRevision;
      await requireAgentUpdatesOf(request, store, fleet, number);
      if (request.query.dry_run) {
        context.streams.limiter.acquireForAccount(request, reply);
        const plan = await fleets.plan(fleet, request.body, requesterOf(request));
        await recordPrice(context, request, fleet, plan);
        return sendPrice(context, request, reply, fleet, plan, request.query.ask_devices);
      }
      const key = idempotencyKeyOf(request);
      const { rollout, plan } = await fleets.makeRollout(fleet, request.body, requesterOf(request), key);
      const body = await toRolloutBody(store, { fleet, rollout });
      return reply.code(201).send({ ...body, ...(plan && { foreseen: toForeseenBody(plan) }) });
    },
  );
}

/** Returns the plan that a request names: the fleet may require approval only since that was made. */
async function planOf(
  { rollouts }: Pick<Store, "rollouts">,
  { plan_id: id }: RolloutRequest,
): Promise<StoredPlan | undefined> {
  return id === undefined ? undefined : rollouts.findPlan(id);
}

async function recordPrice(
  { store, clock }: ApiBase,
  request: FastifyRequest,
  fleet: Fleet,
  { revision, waves }: RolloutPlan,
): Promise<void> {
  const targets = waves.reduce((total, wave) => total + wave.length, 0);
  const details = { fleet: fleet.name, revision: revision.revision.number, targets };
  const subject = { kind: "fleet", id: fleet.id, name: fleet.name };
  await store.audit.addEntry(auditOf(request, clock, { action: "rollout.priced", subject, details }));
}

function sendPrice(
  context: ApiContext<"accounts" | "fleets" | "streams">,
  request: FastifyRequest,
  reply: FastifyReply,
  fleet: Fleet,
  plan: RolloutPlan,
  asks: boolean,
): FastifyReply {
  const signal = streamSignal(request, reply, context);
  const events = context.fleets.price(fleet, plan, asks, requesterOf(request), signal);
  const texts = formatPrice(context, request, events);
  return sendTexts(reply, context.streams.limiter.withStallTimeout(request, reply, texts));
}

/** A failure in the middle is the last event of the stream. */
async function* formatPrice(
  { logger, clock }: ApiBase,
  request: FastifyRequest,
  events: AsyncIterable<PriceEvent>,
): AsyncGenerator<string> {
  let seq = 0;
  // Sends the headers before the first device answers.
  yield "\n";
  try {
    for await (const event of events) {
      seq = event.seq;
      yield formatEvent(JSON.stringify(event));
    }
  } catch (error) {
    const { code, message } = toPublicError(error, request, logger);
    const timestamp = Math.floor(clock.now() / 1000);
    const event: PriceEvent = { status: "Fail", message, seq: seq + 1, timestamp, code };
    yield formatEvent(JSON.stringify(event));
  }
}
