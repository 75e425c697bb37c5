import {
  type InfiniteData,
  useInfiniteQuery,
  type UseInfiniteQueryResult,
  useQuery,
  useQueryClient,
  type UseQueryResult,
} from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { TargetState } from "../../../protocol/fleets/rollout.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { Rollout } from "../../../protocol/api-types.ts";
import { FIRST_PAGE, readTargetPage, type TargetPage } from "./target-pages.ts";
import { mayChange } from "./verdict.ts";

/** While a rollout goes on its counts change without an event of the account. */
const REFETCH_INTERVAL_MS = 2000;
const TARGETS_REFETCH_INTERVAL_MS = 4000;
/** A list of more pages is fetched again only when it is opened anew. */
const MAX_REFETCHED_PAGES = 4;

export interface RolloutPath {
  readonly fleet: string;
  readonly rollout_id: string;
}

/** A rollout with its counts, fetched again while it is not over. */
export function useRollout(path: RolloutPath): UseQueryResult<Rollout> {
  return useQuery({
    queryKey: [...KEYS.rollout(path.rollout_id), "rollout"],
    queryFn: ({ signal }) => call("GET /v1/fleets/{fleet}/rollouts/{rollout_id}", { path: { ...path }, signal }),
    refetchInterval: ({ state }) => (state.data && !mayChange(state.data) ? false : REFETCH_INTERVAL_MS),
  });
}

/** The targets of a rollout, what failed first; only those in one state if one is given. */
export function useTargets(
  path: RolloutPath,
  rollout: Rollout,
  only: TargetState | undefined,
): UseInfiniteQueryResult<InfiniteData<TargetPage>> {
  const client = useQueryClient();
  const key = [...KEYS.rollout(path.rollout_id), "rollout"];
  const id = path.rollout_id;
  useRefetchOnChange(id, rollout);
  return useInfiniteQuery({
    queryKey: [...targetsKey(id), only ?? "all"],
    queryFn: async ({ pageParam, signal }): Promise<TargetPage> => {
      const { counts } = client.getQueryData<Rollout>(key) ?? rollout;
      return await readTargetPage(counts, only, pageParam, async (state, cursor) =>
        call("GET /v1/fleets/{fleet}/rollouts/{rollout_id}/targets", {
          path: { ...path },
          query: { state, cursor },
          signal,
        }),
      );
    },
    initialPageParam: FIRST_PAGE,
    getNextPageParam: ({ next }) => next,
    refetchInterval: ({ state }) => (!mayChange(rollout) || !isShort(state.data) ? false : TARGETS_REFETCH_INTERVAL_MS),
  });
}

/** Outside of the key of the rollout: its events would fetch all pages again. */
const targetsKey = (id: string) => ["rollout-targets", id] as const;

/** The counts above the list and the list say the same, also once the rollout is over. */
function useRefetchOnChange(id: string, { state, counts }: Rollout): void {
  const client = useQueryClient();
  const shown = JSON.stringify([state, counts]);
  const fetched = useRef(shown);
  useEffect(() => {
    if (fetched.current === shown) return;
    fetched.current = shown;
    const queryKey = targetsKey(id);
    void client.invalidateQueries({ queryKey, predicate: ({ state: { data } }) => isShort(data) });
  }, [client, id, shown]);
}

function isShort(data: unknown): boolean {
  return data === undefined || (data as InfiniteData<TargetPage>).pages.length <= MAX_REFETCHED_PAGES;
}
