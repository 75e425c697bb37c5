import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { type BodyOf, type QueryOf, requestOf } from "./request.ts";

const counts = z.record(z.string(), z.number());
export type Counts = z.output<typeof counts>;
const actor = z.looseObject({ kind: z.string(), id: z.string(), name: z.string().optional() });

const waiting = z.looseObject({
  for: z.string(),
  count: z.number(),
  since: z.number().optional(),
  until: z.number().optional(),
  message: z.string().optional(),
});
export type Waiting = z.output<typeof waiting>;

/** What a rollout waits for. Without it, as of an older service, nothing is known. */
export const standing = {
  waiting_for: z.array(waiting).default([]),
  waits_for_people: z.boolean().default(false),
};

/** What is known of a rollout before it begins. */
export const foreseenSchema = z.looseObject({
  waiting_for: z.array(waiting),
  refused: z.number(),
  left: z.number(),
  joined: z.number(),
});
export type Foreseen = z.output<typeof foreseenSchema>;

const rolloutSchema = z.looseObject({
  id: z.string(),
  fleet: z.string(),
  retry_of: z.string().nullable(),
  revision: z.number(),
  previous_revision: z.number().nullable(),
  state: z.string(),
  reason: z.string().nullable(),
  wave: z.number(),
  waves: z.array(
    z.looseObject({ wave: z.number(), targets: z.number(), counts, advance: z.string(), soak_s: z.number() }),
  ),
  targets: z.number(),
  counts,
  ...standing,
  foreseen: foreseenSchema.optional(),
  failures: z
    .array(z.looseObject({ code: z.string().nullable(), attempts: z.number(), assets: z.number() }))
    .default([]),
  created_at: z.number(),
  created_by: actor,
  approved_by: actor.nullable(),
  started_at: z.number().nullable(),
  finished_at: z.number().nullable(),
});
export type Rollout = z.output<typeof rolloutSchema>;
const rolloutPageSchema = z.looseObject({ rollouts: z.array(rolloutSchema), next_cursor: z.string().nullable() });

const retryPlanSchema = z.looseObject({
  revision: z.number(),
  assets: z.number(),
  current: z.number(),
  left: z.number(),
  superseded: z.looseObject({ id: z.string(), revision: z.number(), state: z.string() }).nullable(),
  under_way: z.string().nullable(),
});
export type RetryPlan = z.output<typeof retryPlanSchema>;

const targetSchema = z.looseObject({
  asset_id: z.string(),
  asset_name: z.string(),
  serial_number: z.string(),
  wave: z.number(),
  state: z.string(),
  for: z.string().optional(),
  until: z.number().optional(),
  direction: z.string(),
  attempt: z.number(),
  deployment_id: z.string().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  since: z.number(),
  attempts: z
    .array(
      z.looseObject({
        direction: z.string(),
        attempt: z.number(),
        state: z.string(),
        code: z.string().optional(),
        message: z.string().optional(),
        deployment_id: z.string().optional(),
        ended_at: z.number(),
        logs: z.string().optional(),
      }),
    )
    .default([]),
});
export type Target = z.output<typeof targetSchema>;
const targetPageSchema = z.looseObject({ targets: z.array(targetSchema), next_cursor: z.string().nullable() });

const ROLLOUTS = "/v1/fleets/{fleet}/rollouts";
const ROLLOUT = `${ROLLOUTS}/{rollout_id}` as const;

export type RolloutCreation = BodyOf<`POST ${typeof ROLLOUTS}`>;

export function listRollouts(client: ApiClient, fleet: string, query: QueryOf<`GET ${typeof ROLLOUTS}`>) {
  return client.json(requestOf(`GET ${ROLLOUTS}`, { path: { fleet }, query }), rolloutPageSchema);
}

export function getRollout(client: ApiClient, fleet: string, id: string): Promise<Rollout> {
  return client.json(requestOf(`GET ${ROLLOUT}`, pathOf(fleet, id)), rolloutSchema);
}

export function listTargets(
  client: ApiClient,
  fleet: string,
  id: string,
  query: QueryOf<`GET ${typeof ROLLOUT}/targets`>,
) {
  return client.json(requestOf(`GET ${ROLLOUT}/targets`, { ...pathOf(fleet, id), query }), targetPageSchema);
}

/** @param key makes the request safe to repeat */
export function createRollout(client: ApiClient, fleet: string, body: RolloutCreation, key: string): Promise<Rollout> {
  const headers = { "Idempotency-Key": key };
  return client.json(requestOf(`POST ${ROLLOUTS}`, { path: { fleet }, body, headers }), rolloutSchema);
}

/** Says what a retry would take. Errors: `RolloutStateConflict` if there is nothing to retry. */
export function planRetry(client: ApiClient, fleet: string, id: string): Promise<RetryPlan> {
  const query = { dry_run: "true" };
  return client.json(requestOf(`POST ${ROLLOUT}/retry`, { ...pathOf(fleet, id), query }), retryPlanSchema);
}

/** Makes a rollout that takes only the assets on which this one has failed. */
export function retryRollout(client: ApiClient, fleet: string, id: string): Promise<Rollout> {
  return client.json(requestOf(`POST ${ROLLOUT}/retry`, pathOf(fleet, id)), rolloutSchema);
}

export type RolloutCommand = "pause" | "resume" | "advance" | "approve" | "cancel" | "rollback";

/**
 * Carries out a command, or says without changing anything what it leads to. Errors: `RolloutStateConflict`.
 *
 * @param before the rollout as the person has seen it: `advance` begins the wave after that, and no later one
 */
export function commandRollout(
  client: ApiClient,
  fleet: string,
  { id, wave }: Pick<Rollout, "id" | "wave">,
  command: RolloutCommand,
  { isDryRun = false } = {},
): Promise<Rollout> {
  const path = { fleet, rollout_id: id };
  const query = { dry_run: isDryRun ? "true" : undefined };
  const request =
    command === "advance"
      ? requestOf(`POST ${ROLLOUT}/advance`, { path, query: { ...query, wave: wave + 1 } })
      : requestOf(`POST ${ROLLOUT}/${command}`, { path, query });
  return client.json(request, rolloutSchema);
}

function pathOf(fleet: string, id: string) {
  return { path: { fleet, rollout_id: id } };
}
