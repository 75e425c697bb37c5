import { type InfiniteData, useInfiniteQuery, type UseInfiniteQueryResult } from "@tanstack/react-query";
import type { AlertList } from "../../../protocol/api-types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { AlertFilters } from "./alert-filters.tsx";

/** An outage is one group of many alerts: they are read in few pages. */
const PAGE_SIZE = "200";

/** The alerts that match, in pages. */
export function useAlerts(
  query: AlertFilters & { readonly state: "firing" | "resolved"; readonly group?: string },
): UseInfiniteQueryResult<InfiniteData<AlertList>> {
  return useInfiniteQuery({
    queryKey: [...KEYS.alerts, "list", query],
    queryFn: ({ signal, pageParam }) =>
      call("GET /v1/alerts", { signal, query: { ...query, limit: PAGE_SIZE, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
}
