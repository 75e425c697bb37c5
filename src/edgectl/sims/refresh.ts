import type { SimType } from "../../protocol/assets/sim.ts";
import type { ApiClient } from "../api/client.ts";
import { refreshSim, type Sim } from "../api/sims.ts";
import { findSims } from "./read-sims.ts";

/** A fact about a SIM that is different from before; `null`: it has none. */
export interface SimDifference {
  readonly field: "status" | "operator_status" | "network_group" | "service_profile" | "pending" | "lost";
  readonly before: unknown;
  readonly after: unknown;
}

export interface RefreshedSim {
  readonly sim: Sim;
  readonly differences: readonly SimDifference[];
  /** Whether the operator was asked for this. */
  readonly asked: boolean;
}

/**
 * Has the operators asked for the SIMs, of the given type if there is one. Where one fails, the others are there, with its failure.
 * Errors: exit code 4 if there is no such SIM.
 */
export async function refreshSims(
  client: ApiClient,
  asset: string,
  type: SimType | undefined,
): Promise<{ readonly refreshed: readonly RefreshedSim[]; readonly failure: unknown }> {
  const before = await findSims(client, asset, type);
  const results = await Promise.allSettled(before.map((sim) => refreshSim(client, asset, sim.type as SimType)));
  const refreshed = results.flatMap((result, index) => {
    const known = before[index];
    if (result.status === "rejected" || !known) return [];
    const sim = result.value;
    return [{ sim, differences: differencesOf(known, sim), asked: sim.checked_at !== known.checked_at }];
  });
  const failed = results.find((result) => result.status === "rejected");
  return { refreshed, failure: failed?.reason };
}

const FIELDS = ["status", "operator_status", "network_group", "service_profile", "pending", "lost"] as const;

/** Returns what is different. */
export function differencesOf(before: Sim, after: Sim): readonly SimDifference[] {
  return FIELDS.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field])).map((field) => ({
    field,
    before: before[field] ?? null,
    after: after[field] ?? null,
  }));
}
