import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { fleetPath } from "./fleets.ts";
import { anyObject } from "../../protocol/scalars.ts";

const fields = {
  number: z.number(),
  comment: z.string().nullable(),
  apps: z.array(
    z.looseObject({ name: z.string(), image: z.string().nullable(), written_image: z.string().nullable() }),
  ),
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
});
export type RevisionDiff = z.output<typeof revisionDiffSchema>;

export function listRevisions(
  client: ApiClient,
  fleet: string,
  position: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
) {
  return client.json({ path: fleetPath(fleet, "revisions"), query: { ...position } }, revisionPageSchema);
}

/** Returns a revision with its apps, and the values of variables that are not declared secrets. */
export function getRevision(client: ApiClient, fleet: string, number: number): Promise<RevisionDetails> {
  const query = { reveal: "environments" };
  return client.json({ path: fleetPath(fleet, "revisions", String(number)), query }, revisionDetailsSchema);
}

export function diffRevisions(client: ApiClient, fleet: string, from: number, to: number): Promise<RevisionDiff> {
  return client.json({ path: fleetPath(fleet, "revisions", String(from), "diff", String(to)) }, revisionDiffSchema);
}

/** Makes the next revision. Returns the newest one if that has the same content. */
export function createRevision(client: ApiClient, fleet: string, body: object): Promise<Revision> {
  return client.json({ method: "POST", path: fleetPath(fleet, "revisions"), body }, revisionSchema);
}
