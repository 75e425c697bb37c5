import { z } from "zod";
import type { ApiClient, ApiRequest } from "./client.ts";
import { fleetPath } from "./fleets.ts";

const counts = z.record(z.string(), z.number());
export type Counts = z.output<typeof counts>;
const actor = z.looseObject({ kind: z.string(), id: z.string(), name: z.string().optional() });

const rolloutSchema = z.looseObject({
  id: z.string(),
  fleet: z.string(),
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
  created_at: z.number(),
  created_by: actor,
  approved_by: actor.nullable(),
  started_at: z.number().nullable(),
  finished_at: z.number().nullable(),
});
export type Rollout = z.output<typeof rolloutSchema>;
const rolloutPageSchema = z.looseObject({ rollouts: z.array(rolloutSchema), next_cursor: z.string().nullable() });

const targetSchema = z.looseObject({
  asset_id: z.string(),
  asset_name: z.string(),
  wave: z.number(),
  state: z.string(),
  for: z.string().optional(),
  until: z.number().optional(),
  attempt: z.number(),
  deployment_id: z.string().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
  since: z.number(),
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
}

export interface RolloutCreation {
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

/** The request for the price of a rollout, whose response is a stream. */
export function priceRequest(fleet: string, body: RolloutCreation): ApiRequest {
  return { method: "POST", path: fleetPath(fleet, "rollouts"), query: { dry_run: "true" }, body };
}

export function commandRollout(client: ApiClient, fleet: string, id: string, command: string): Promise<Rollout> {
  return client.json({ method: "POST", path: rolloutPath(fleet, id, command) }, rolloutSchema);
}
