import { useInfiniteQuery } from "@tanstack/react-query";
import { Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { useSearchParams } from "react-router";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlanSettings } from "./plan-settings.tsx";
import { readSimFilters, type SimFilters } from "./sim-filters.ts";
import { SimFilterBar } from "./sim-filter-bar.tsx";
import { SimTable } from "./sim-table.tsx";

/** The SIMs of all assets, filtered by the address of the page, and the account's settings of their data plans. */
export function SimsPage(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const filters = readSimFilters(parameters);
  const sims = useInfiniteQuery({
    queryKey: [...KEYS.sims, filters],
    queryFn: ({ signal, pageParam }) => call("GET /v1/sims", { signal, query: { ...filters, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  const setFilters = (next: SimFilters): void => setParameters({ ...next }, { replace: true });
  return (
    <>
      <PageTitle title="SIMs" />
      <Stack gap="xl">
        <div>
          <SimFilterBar filters={filters} onChange={setFilters} />
          <Loaded query={sims}>
            {({ pages }) => {
              const rows = pages.flatMap((page) => page.sims);
              if (rows.length > 0) return <SimTable sims={rows} />;
              return <NoSims isFiltered={Object.keys(filters).length > 0} />;
            }}
          </Loaded>
          <MoreButton query={sims} />
        </div>
        <PlanSettings />
      </Stack>
    </>
  );
}

function NoSims({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  if (isFiltered) return <Empty title="No SIM matches.">Other SIMs of the account are not shown.</Empty>;
  return <Empty title="There are no SIMs yet.">SIMs are given when an asset is registered.</Empty>;
}
