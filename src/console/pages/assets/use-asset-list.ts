import {
  type InfiniteData,
  keepPreviousData,
  useInfiniteQuery,
  type UseInfiniteQueryResult,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect } from "react";
import { call } from "../../api/client.ts";
import { onAccountEvent } from "../../live/events.ts";
import { applyEvent, type AssetListPage, MAX_REFETCHED_PAGES } from "./asset-row.ts";
import { type AssetFilters, toParameters } from "./filters.ts";

const PAGE_SIZE = "200";
/** Not below the key that every event of an asset makes outdated: this list may have hundreds of pages. */
const LIST_KEY = ["asset-list"];
/** At most so often the first pages are fetched again because of events, in milliseconds. */
const MIN_REFETCH_INTERVAL_MS = 1000;

export type AssetListResult = UseInfiniteQueryResult<InfiniteData<AssetListPage>>;
type Data = InfiniteData<AssetListPage, string | undefined>;

/**
 * The assets that the filters let through, page by page as they are scrolled to. Events change the rows that are there; a
 * list of few pages is also fetched again, since a change may bring an asset in or out.
 */
export function useAssetList(filters: AssetFilters): AssetListResult {
  useEvents();
  const parameters = toParameters(filters);
  return useInfiniteQuery({
    queryKey: [...LIST_KEY, parameters],
    queryFn: async ({ pageParam, signal }): Promise<AssetListPage> => {
      // A page of which nothing matches may have another one after it.
      for (let cursor = pageParam; ;) {
        const page = await call("GET /v1/assets", { query: { limit: PAGE_SIZE, cursor, ...parameters }, signal });
        if (page.assets.length > 0 || page.next_cursor === null) return page;
        cursor = page.next_cursor;
      }
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: false,
  });
}

function useEvents(): void {
  const client = useQueryClient();
  useEffect(() => {
    // Before the list is fetched anew for being old: not all of its pages.
    client.setQueriesData<Data>({ queryKey: LIST_KEY }, (data) => data && firstPages(data));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stop = onAccountEvent((event) => {
      client.setQueriesData<Data>({ queryKey: LIST_KEY }, (data) => {
        const pages = data && applyEvent(data.pages, event);
        // The same object: nothing has changed, and its age stays.
        return pages === data?.pages ? data : data && { ...data, pages: [...(pages ?? [])] };
      });
      if (!("asset_id" in event) || event.type === "deployment.moved") return;
      timer ??= setTimeout(() => {
        timer = undefined;
        void client.invalidateQueries({ queryKey: LIST_KEY, predicate: ({ state }) => isShort(state.data) });
      }, MIN_REFETCH_INTERVAL_MS);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [client]);
}

function isShort(data: unknown): boolean {
  return data === undefined || (data as Data).pages.length <= MAX_REFETCHED_PAGES;
}

function firstPages({ pages, pageParams }: Data): Data {
  return { pages: pages.slice(0, MAX_REFETCHED_PAGES), pageParams: pageParams.slice(0, MAX_REFETCHED_PAGES) };
}
