import {
  type QueryClient,
  useMutation,
  type UseMutationResult,
  useQuery,
  useQueryClient,
  type UseQueryResult,
} from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import type { Allowance, AssetSims, ProSimUsage, SimEntry, SuperSimUsage } from "../../../protocol/api-types.ts";
import { serverNow } from "../../api/reachability.ts";
import type { SimType } from "../sims/sim-words.ts";
import type { UsageRange } from "./usage-days.ts";

const simsKey = (id: string) => [...KEYS.simsOf(id), "state"] as const;
const allowanceKey = (id: string, type: SimType) => [...KEYS.simsOf(id), "allowance", type] as const;
const ALLOWANCE = "/v1/assets/{asset_id}/sims/{sim_type}/allowance";

/** Fetches again what a change of a SIM makes outdated, its asset too: that says what is pending, and its attention. */
export async function forgetSims(client: QueryClient, id: string): Promise<void> {
  const keys = [KEYS.simsOf(id), KEYS.asset(id)];
  await Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })));
}

/** The SIMs of the asset, as their operators had them when they were asked last. No operator is asked. */
export function useSims(id: string, enabled = true): UseQueryResult<AssetSims> {
  return useQuery({
    queryKey: simsKey(id),
    queryFn: ({ signal }) => call("GET /v1/assets/{asset_id}/sims", { path: { asset_id: id }, signal }),
    enabled,
  });
}

/** Asks the operator of a SIM for its state. What else is shown of the asset may depend on the answer. */
export function useSimRefresh(id: string, type: SimType): UseMutationResult<SimEntry, Error, void> {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      call("POST /v1/assets/{asset_id}/sims/{sim_type}/refresh", { path: { asset_id: id, sim_type: type } }),
    onSuccess: () => forgetSims(client, id),
  });
}

/** The allowance of a SIM with its use; `null` if it has none. */
export function useAllowance(id: string, type: SimType, enabled = true): UseQueryResult<Allowance | null> {
  return useQuery({
    queryKey: allowanceKey(id, type),
    queryFn: async ({ signal }) => {
      try {
        return await call(`GET ${ALLOWANCE}`, { path: { asset_id: id, sim_type: type }, signal });
      } catch (error) {
        if (toFailure(error).code === "AllowanceNotFound") return null;
        throw error;
      }
    },
    enabled,
  });
}

/** Sets an allowance in bytes by hand, or removes the one that was set with `undefined`. */
export function useAllowanceChange(
  id: string,
  type: SimType,
  onSuccess: () => void,
): UseMutationResult<unknown, Error, number | undefined> {
  const client = useQueryClient();
  const path = { asset_id: id, sim_type: type };
  return useMutation({
    mutationFn: async (bytes) => {
      if (bytes === undefined) await call(`DELETE ${ALLOWANCE}`, { path });
      else await call(`PUT ${ALLOWANCE}`, { path, body: { bytes } });
    },
    onSuccess,
    onSettled: () => forgetSims(client, id),
  });
}

export type SimUsage = (SuperSimUsage | ProSimUsage) & {
  /** When it was fetched, by the service's clock in Unix seconds: `as_of` was so old then, and not what it is by now. */
  readonly fetchedAt: number;
};

/** Usage of a SIM by UTC day, as its operator counts it. */
export function useSimUsage(
  id: string,
  type: SimType,
  { from, to }: UsageRange,
  enabled: boolean,
): UseQueryResult<SimUsage> {
  return useQuery({
    queryKey: [...KEYS.simsOf(id), "usage", type, from, to],
    queryFn: async ({ signal }) => {
      const usage = await call("GET /v1/assets/{asset_id}/sims/{sim_type}/usages", {
        path: { asset_id: id, sim_type: type },
        query: { granularity: "day", start_time: String(from), end_time: String(to) },
        signal,
      });
      return { ...usage, fetchedAt: serverNow() / 1000 };
    },
    enabled,
  });
}
