import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { apiPath } from "./path.ts";

const tagsSchema = z.record(z.string(), z.string());
export type Tags = z.output<typeof tagsSchema>;

const variablesSchema = z.record(z.string(), z.looseObject({ value: z.string().nullable(), secret: z.boolean() }));
export type Variables = z.output<typeof variablesSchema>;

/** A variable to set, or `null` to remove it. */
export type VariableChanges = Readonly<Record<string, { readonly value: string; readonly secret: boolean } | null>>;

const holdSchema = z.looseObject({ reason: z.string(), until: z.number().nullable() });
export type Hold = z.output<typeof holdSchema>;

/** @param changes a value sets a tag, `null` removes it */
export function changeTags(
  client: ApiClient,
  asset: string,
  changes: Readonly<Record<string, string | null>>,
): Promise<Tags> {
  return client.json({ method: "PATCH", path: pathOf(asset, "tags"), body: changes }, tagsSchema);
}

/** @param reveal includes the values of variables that are not secret */
export function getVariables(client: ApiClient, asset: string, reveal: boolean): Promise<Variables> {
  const query = { reveal: reveal ? "values" : undefined };
  return client.json({ path: pathOf(asset, "variables"), query }, variablesSchema);
}

export function changeVariables(client: ApiClient, asset: string, changes: VariableChanges): Promise<Variables> {
  return client.json({ method: "PATCH", path: pathOf(asset, "variables"), body: changes }, variablesSchema);
}

/** @param until Unix seconds */
export function holdAsset(
  client: ApiClient,
  asset: string,
  hold: { readonly reason: string; readonly until?: number },
): Promise<Hold> {
  return client.json({ method: "PUT", path: pathOf(asset, "hold"), body: hold }, holdSchema);
}

export function releaseAsset(client: ApiClient, asset: string): Promise<void> {
  return client.empty({ method: "DELETE", path: pathOf(asset, "hold") });
}

function pathOf(asset: string, setting: string): string {
  return apiPath("v1", "assets", asset, setting);
}
