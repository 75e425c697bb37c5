import { Anchor, Code } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { FleetListItem } from "../../api/types.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { formatMemberCounts } from "../../parts/member-states.ts";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { LatestRollout } from "./latest-rollout.tsx";

const COLUMNS: readonly Column<FleetListItem>[] = [
  {
    header: "Fleet",
    renderCell: ({ name, paused_reason: reason }) => (
      <>
        <Anchor component={Link} to={`/fleets/${name}`} inherit underline="always">
          {name}
        </Anchor>
        {reason !== null && (
          <div>
            <State kind="warn" icon="pause">
              <SafeText text={reason} max={200} />
            </State>
          </div>
        )}
      </>
    ),
  },
  {
    header: "Assets with",
    renderCell: ({ selector }) => (
      <Code>
        <SafeText text={selector} max={200} />
      </Code>
    ),
  },
  { header: "Apps", renderCell: ({ apps }) => <SafeText text={apps.join(", ")} max={200} /> },
  {
    header: "Stable revision",
    isNarrow: true,
    renderCell: ({ stable_revision: stable, last_revision: last }) =>
      stable === null ? "none yet" : stable === last ? stable : `${stable} (newest: ${last})`,
  },
  { header: "Assets", renderCell: ({ states }) => formatMemberCounts(states) || "–" },
  { header: "Newest rollout", renderCell: (fleet) => <LatestRollout fleet={fleet} /> },
];

/** The fleets of the account. */
export function FleetsPage(): ReactNode {
  const fleets = useInfiniteQuery({
    queryKey: [...KEYS.fleets, "list"],
    queryFn: ({ signal, pageParam }) => call("GET /v1/fleets", { signal, query: { cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  return (
    <>
      <PageTitle title="Fleets" />
      <Loaded query={fleets}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.fleets);
          if (rows.length > 0) return <Table label="Fleets" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />;
          return (
            <Empty title="There are no fleets yet.">
              A fleet brings the same apps to every asset that a selector matches. Write it in a file and run{" "}
              <Code>edgectl fleets apply -f fleet.yaml</Code>, or create it with the API.
            </Empty>
          );
        }}
      </Loaded>
      <MoreButton query={fleets} />
    </>
  );
}
