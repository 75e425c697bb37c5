import type {
  AppDetails,
  AppList,
  Asset,
  DataUsage,
  DeploymentList,
  Device,
  Hold,
  ShownVariables,
} from "../../../protocol/api-types.ts";
import {
  type InfiniteData,
  useInfiniteQuery,
  type UseInfiniteQueryResult,
  useQuery,
  type UseQueryResult,
} from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";

/** What each part of the page of an asset is given. */
export interface TabProps {
  readonly asset: Asset;
}

/**
 * The queries of an asset. Each one stands alone: those that ask the device itself may take ten seconds, and nothing waits
 * for them. An event of the asset makes those outdated that the service answers; the device is asked again only when it
 * has connected, since each question costs data of its plan.
 */

export function useAsset(id: string): UseQueryResult<Asset> {
  return useQuery({
    queryKey: KEYS.asset(id),
    queryFn: ({ signal }) => call("GET /v1/assets/{asset_id}", { path: { asset_id: id }, signal }),
  });
}

export function useApps(id: string): UseQueryResult<AppList> {
  return useQuery({
    queryKey: [...KEYS.asset(id), "apps"],
    queryFn: ({ signal }) => call("GET /v1/assets/{asset_id}/edge/apps", { path: { asset_id: id }, signal }),
  });
}

export function useApp(id: string, app: string): UseQueryResult<AppDetails> {
  return useQuery({
    queryKey: [...KEYS.asset(id), "apps", app],
    queryFn: ({ signal }) =>
      call("GET /v1/assets/{asset_id}/edge/apps/{name}", { path: { asset_id: id, name: app }, signal }),
  });
}

/** The hold of an asset; `null` if it is not held. */
export function useHold(id: string): UseQueryResult<Hold | null> {
  return useQuery({
    queryKey: [...KEYS.asset(id), "hold"],
    queryFn: async ({ signal }) => {
      try {
        return await call("GET /v1/assets/{asset_id}/hold", { path: { asset_id: id }, signal });
      } catch (error) {
        if (toFailure(error).code === "HoldNotFound") return null;
        throw error;
      }
    },
  });
}

export function useVariables(id: string): UseQueryResult<ShownVariables> {
  return useQuery({
    queryKey: [...KEYS.asset(id), "variables"],
    queryFn: ({ signal }) => call("GET /v1/assets/{asset_id}/variables", { path: { asset_id: id }, signal }),
  });
}

/** Key of what the device itself was asked. It is not below the asset's, so that events do not ask again. */
export const deviceKey = (id: string) => ["device", id] as const;

export function useDevice(id: string, refetchInterval: number | false = false): UseQueryResult<Device> {
  return useQuery({
    queryKey: deviceKey(id),
    queryFn: ({ signal }) => call("GET /v1/assets/{asset_id}/edge/device", { path: { asset_id: id }, signal }),
    staleTime: 30_000,
    refetchInterval,
  });
}

export function useDataUsage(id: string, from: string, to: string): UseQueryResult<DataUsage> {
  return useQuery({
    queryKey: [...deviceKey(id), "data-usage", from, to],
    queryFn: ({ signal }) =>
      call("GET /v1/assets/{asset_id}/edge/data-usage", { path: { asset_id: id }, query: { from, to }, signal }),
    staleTime: 60_000,
  });
}

const PAGE_SIZE = "50";

export function useDeployments(id: string): UseInfiniteQueryResult<InfiniteData<DeploymentList>> {
  return useInfiniteQuery({
    queryKey: KEYS.deployments(id),
    queryFn: ({ pageParam, signal }) =>
      call("GET /v1/assets/{asset_id}/edge/deployments", {
        path: { asset_id: id },
        query: { limit: PAGE_SIZE, cursor: pageParam },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
}
