import { z } from "zod";
import { MAX_PAGE_SIZE } from "../../protocol/limits.ts";
import { type ApiClient, fetchPages, type Tagged } from "./client.ts";
import { type BodyOf, type QueryOf, requestOf } from "./request.ts";
import { anyObject } from "../../protocol/values/scalars.ts";

const rolloutLinkSchema = z.looseObject({ id: z.string(), revision: z.number(), state: z.string() });

const fleetSchema = z.looseObject({
  name: z.string(),
  selector: z.string(),
  apps: z.array(z.string()),
  strategy: anyObject,
  on_drift: z.string().default("report"),
  states: z.record(z.string(), z.number()).default({}),
  stable_revision: z.number().nullable(),
  last_revision: z.number(),
  paused_reason: z.string().nullable(),
  latest_rollout: rolloutLinkSchema.nullable(),
  created_at: z.number(),
  members: z.number().optional(),
  owned_assets: z.number().optional(),
});
export type Fleet = z.output<typeof fleetSchema>;
const listedFleetSchema = fleetSchema.omit({ members: true, owned_assets: true });
export type ListedFleet = z.output<typeof listedFleetSchema>;
const fleetPageSchema = z.looseObject({ fleets: z.array(listedFleetSchema), next_cursor: z.string().nullable() });

const difference = z.looseObject({ app: z.string(), kind: z.string(), by: z.string().nullable() });

const memberSchema = z.looseObject({
  asset_id: z.string(),
  asset_name: z.string(),
  serial_number: z.string(),
  revision: z.number().nullable(),
  state: z.string(),
  since: z.number().nullable(),
  reported_at: z.number().nullable(),
  for: z.string().optional(),
  until: z.number().optional(),
  message: z.string().nullable(),
  differences: z.array(difference),
  repair: z.looseObject({ count: z.number(), next_at: z.number().nullable() }).optional(),
  conflict: z.string().nullable(),
  target_state: z.string().nullable(),
});
export type Member = z.output<typeof memberSchema>;
const memberPageSchema = z.looseObject({ members: z.array(memberSchema), next_cursor: z.string().nullable() });

const FLEET = "/v1/fleets/{fleet}";
const REVISIONS = `${FLEET}/revisions` as const;

export function listFleets(client: ApiClient, query: QueryOf<"GET /v1/fleets">) {
  return client.json(requestOf("GET /v1/fleets", { query }), fleetPageSchema);
}

export function getFleet(client: ApiClient, fleet: string): Promise<Fleet> {
  return client.json(requestOf(`GET ${FLEET}`, { path: { fleet } }), fleetSchema);
}

export function createFleet(client: ApiClient, body: BodyOf<"POST /v1/fleets">): Promise<Fleet> {
  return client.json(requestOf("POST /v1/fleets", { body }), fleetSchema);
}

/** Returns the fleet for a change of it by `ifUnchanged`. */
export function readFleet(client: ApiClient, fleet: string): Promise<Tagged<Fleet>> {
  return client.tagged(requestOf(`GET ${FLEET}`, { path: { fleet } }), fleetSchema);
}

export function updateFleet(
  client: ApiClient,
  fleet: string,
  body: BodyOf<`PATCH ${typeof FLEET}`>,
  headers: Readonly<Record<string, string>>,
): Promise<Fleet> {
  return client.json(requestOf(`PATCH ${FLEET}`, { path: { fleet }, headers, body }), fleetSchema);
}

export function removeFleet(
  client: ApiClient,
  fleet: string,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  return client.empty(requestOf(`DELETE ${FLEET}`, { path: { fleet }, headers }));
}

export function listMembers(client: ApiClient, fleet: string, query: QueryOf<`GET ${typeof FLEET}/members`>) {
  return client.json(requestOf(`GET ${FLEET}/members`, { path: { fleet }, query }), memberPageSchema);
}

const reappliedSchema = z.looseObject({
  assets: z.number(),
  members: z.array(
    z.looseObject({
      asset_id: z.string(),
      asset_name: z.string(),
      serial_number: z.string(),
      state: z.string(),
      since: z.number().nullable(),
      message: z.string().nullable(),
      differences: z.array(difference),
    }),
  ),
});
export type Reapplied = z.output<typeof reappliedSchema>;

/** Has members put right that are in these states. With `dryRun` says which they are. */
export function reapplyFleet(
  client: ApiClient,
  fleet: string,
  body: BodyOf<`POST ${typeof FLEET}/reapply`>,
  dryRun: boolean,
): Promise<Reapplied> {
  const query = { dry_run: dryRun ? "true" : undefined };
  return client.json(requestOf(`POST ${FLEET}/reapply`, { path: { fleet }, query, body }), reappliedSchema);
}

/** Returns the number of assets that a selector matches. */
export async function countMatching(client: ApiClient, selector: string): Promise<number> {
  const schema = z.looseObject({ assets: z.array(z.unknown()), next_cursor: z.string().nullable() });
  const { items } = await fetchPages<unknown>(
    async (cursor) => {
      const query = { selector, limit: MAX_PAGE_SIZE, cursor };
      const page = await client.json(requestOf("GET /v1/assets", { query }), schema);
      return { items: page.assets, next: page.next_cursor };
    },
    { cursor: undefined, all: true },
  );
  return items.length;
}

const fields = {
  number: z.number(),
  comment: z.string().nullable(),
  apps: z.array(
    z.looseObject({ name: z.string(), image: z.string().nullable(), written_image: z.string().nullable() }),
  ),
  agent: z.looseObject({ version: z.string() }).nullish(),
  created_at: z.number(),
  created_by: z.looseObject({ kind: z.string(), id: z.string(), name: z.string().optional() }),
};
const revisionSchema = z.looseObject(fields);
export type Revision = z.output<typeof revisionSchema>;
const revisionPageSchema = z.looseObject({ revisions: z.array(revisionSchema), next_cursor: z.string().nullable() });

const revisionDetailsSchema = z.looseObject({ ...fields, entries: z.array(anyObject) });
export type RevisionDetails = z.output<typeof revisionDetailsSchema>;

const revisionDiffSchema = z.looseObject({
  from: z.number(),
  to: z.number(),
  apps: z.array(z.looseObject({ app: z.string(), change: z.string(), fields: z.array(z.string()) })),
  agent: z.looseObject({ from: z.string().nullable(), to: z.string().nullable() }).nullish(),
});
export type RevisionDiff = z.output<typeof revisionDiffSchema>;

export function listRevisions(client: ApiClient, fleet: string, query: QueryOf<`GET ${typeof REVISIONS}`>) {
  return client.json(requestOf(`GET ${REVISIONS}`, { path: { fleet }, query }), revisionPageSchema);
}

/** Returns a revision with its apps, and the values of variables that are not declared secrets. */
export function getRevision(client: ApiClient, fleet: string, number: number): Promise<RevisionDetails> {
  const options = { path: { fleet, number: String(number) }, query: { reveal: "environments" } };
  return client.json(requestOf(`GET ${REVISIONS}/{number}`, options), revisionDetailsSchema);
}

export function diffRevisions(client: ApiClient, fleet: string, from: number, to: number): Promise<RevisionDiff> {
  const path = { fleet, number: String(from), other: String(to) };
  return client.json(requestOf(`GET ${REVISIONS}/{number}/diff/{other}`, { path }), revisionDiffSchema);
}

export type RevisionBody = BodyOf<`POST ${typeof REVISIONS}`>;

/** Makes the next revision. Returns the newest one if that has the same content. */
export function createRevision(client: ApiClient, fleet: string, body: RevisionBody): Promise<Revision> {
  return client.json(requestOf(`POST ${REVISIONS}`, { path: { fleet }, body }), revisionSchema);
}
