import {
  keepPreviousData,
  useInfiniteQuery,
  type InfiniteData,
  type UseInfiniteQueryResult,
} from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { AssetRow } from "./asset-row.ts";
import { type AssetFilters, toParameters } from "./filters.ts";

const PAGE_SIZE = "200";

interface AssetPage {
  readonly assets: readonly AssetRow[];
  readonly next_cursor: string | null;
}

export type AssetListResult = UseInfiniteQueryResult<InfiniteData<AssetPage>>;

/** The assets that the filters let through, page by page as they are scrolled to. */
export function useAssetList(filters: AssetFilters): AssetListResult {
  const parameters = toParameters(filters);
  return useInfiniteQuery({
    queryKey: [...KEYS.assets, parameters],
    queryFn: async ({ pageParam, signal }): Promise<AssetPage> => {
      const query = { limit: PAGE_SIZE, cursor: pageParam, ...parameters };
      return await call("GET /v1/assets", { query, signal });
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });
}
