import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { AuditFilters } from "./audit-filters.tsx";
import { AuditTable } from "./audit-table.tsx";
import { useFilters } from "./use-filters.ts";

/** Who did what, newest first. */
export function AuditPage(): ReactNode {
  const { query, isFiltered } = useFilters();
  const audit = useInfiniteQuery({
    queryKey: [...KEYS.audit, query],
    queryFn: ({ signal, pageParam }) => call("GET /v1/audit", { signal, query: { ...query, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  return (
    <>
      <PageTitle title="Audit log" />
      <AuditFilters />
      <Loaded query={audit}>
        {({ pages }) => {
          const entries = pages.flatMap((page) => page.entries);
          if (entries.length > 0) return <AuditTable entries={entries} />;
          return isFiltered ? (
            <Empty title="No entry fits.">Change or clear the filters. Entries are kept for 400 days.</Empty>
          ) : (
            <Empty title="Nothing has been done yet.">
              Each change in the account is written here, with who made it.
            </Empty>
          );
        }}
      </Loaded>
      <MoreButton query={audit} />
    </>
  );
}
