import { Anchor, Code } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { isRolloutOver } from "../../../protocol/fleets/rollout-over.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { FleetListItem } from "../../../protocol/api-types.ts";
import { CountBar } from "../../parts/count-bar.tsx";
import { RolloutStateLabel, State } from "../../parts/state.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { formatMemberCounts } from "../../parts/member-states.ts";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { type Column, Table } from "../../parts/table.tsx";

const REFETCH_INTERVAL_MS = 5000;

/** The newest rollout of a fleet; with its counts while it is not over. */
export function LatestRollout({ fleet }: { readonly fleet: FleetListItem }): ReactNode {
  const { name, latest_rollout: latest } = fleet;
  const isOpen = latest !== null && !isRolloutOver(latest);
  const id = latest?.id ?? "";
  const { data } = useQuery({
    queryKey: [...KEYS.rollout(id), "rollout"],
    queryFn: ({ signal }) =>
      call("GET /v1/fleets/{fleet}/rollouts/{rollout_id}", { path: { fleet: name, rollout_id: id }, signal }),
    enabled: isOpen,
    refetchInterval: REFETCH_INTERVAL_MS,
  });
  if (latest === null) return "none";
  return (
    <>
      <Anchor component={Link} to={`/fleets/${name}/rollouts/${id}`} inherit underline="always">
        Revision {latest.revision}
      </Anchor>{" "}
      <RolloutStateLabel state={latest.state} />
      {isOpen && data && <CountBar counts={data.counts} />}
    </>
  );
}

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
