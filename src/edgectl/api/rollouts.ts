import { z } from "zod";
import type { ApiClient, ApiRequest } from "./client.ts";
import { fleetPath } from "./fleets.ts";

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

interface Position {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

interface TargetQuery extends Position {
  readonly state?: string | undefined;
  readonly wave?: number | undefined;
  readonly failed?: "true" | undefined;
}

export interface RolloutCreation {
  readonly plan_id?: string;
  readonly revision?: number;
  readonly strategy?: Readonly<Record<string, unknown>>;
  readonly start?: boolean;
}

/** Returns the path of a rollout, or of a resource below it. */
export function rolloutPath(fleet: string, id: string, ...rest: readonly string[]): string {
  return fleetPath(fleet, "rollouts", id, ...rest);
}

export function listRollouts(client: ApiClient, fleet: string, position: Position) {
  return client.json({ path: fleetPath(fleet, "rollouts"), query: { ...position } }, rolloutPageSchema);
}

export function getRollout(client: ApiClient, fleet: string, id: string): Promise<Rollout> {
  return client.json({ path: rolloutPath(fleet, id) }, rolloutSchema);
}

export function listTargets(client: ApiClient, fleet: string, id: string, query: TargetQuery) {
  return client.json({ path: rolloutPath(fleet, id, "targets"), query: { ...query } }, targetPageSchema);
}

/** @param key makes the request safe to repeat */
export function createRollout(client: ApiClient, fleet: string, body: RolloutCreation, key: string): Promise<Rollout> {
  const headers = { "Idempotency-Key": key };
  return client.json({ method: "POST", path: fleetPath(fleet, "rollouts"), body, headers }, rolloutSchema);
}

/** The request for the plan of a rollout, and for its price if devices are asked, whose response is a stream. */
export function priceRequest(fleet: string, body: RolloutCreation, asksDevices: boolean): ApiRequest {
  const query = { dry_run: "true", ...(!asksDevices && { ask_devices: "false" }) };
  return { method: "POST", path: fleetPath(fleet, "rollouts"), query, body };
}

/** Says what a retry would take. Errors: `RolloutStateConflict` if there is nothing to retry. */
export function planRetry(client: ApiClient, fleet: string, id: string): Promise<RetryPlan> {
  const query = { dry_run: "true" };
  return client.json({ method: "POST", path: rolloutPath(fleet, id, "retry"), query }, retryPlanSchema);
}

/** Makes a rollout that takes only the assets on which this one has failed. */
export function retryRollout(client: ApiClient, fleet: string, id: string): Promise<Rollout> {
  return client.json({ method: "POST", path: rolloutPath(fleet, id, "retry") }, rolloutSchema);
}

/**
 * Carries out a command, or says without changing anything what it leads to. Errors: `RolloutStateConflict`.
 *
 * @param before the rollout as the person has seen it: `advance` begins the wave after that, and no later one
 */
export function commandRollout(
  client: ApiClient,
  fleet: string,
  { id, wave }: Pick<Rollout, "id" | "wave">,
  command: string,
  { isDryRun = false } = {},
): Promise<Rollout> {
  const query = {
    ...(isDryRun && { dry_run: "true" }),
    ...(command === "advance" && { wave: String(wave + 1) }),
  };
  return client.json({ method: "POST", path: rolloutPath(fleet, id, command), query }, rolloutSchema);
}
