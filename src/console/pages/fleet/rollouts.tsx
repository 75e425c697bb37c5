import { Anchor, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { Rollout } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { CountBar } from "../../parts/count-bar.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { RolloutStateLabel } from "../../parts/state.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { type Column, Table } from "../../parts/table.tsx";

const COLUMNS: readonly Column<Rollout>[] = [
  {
    header: "Rollout",
    renderCell: ({ fleet, id, revision }) => (
      <Anchor component={Link} to={`/fleets/${fleet}/rollouts/${id}`} inherit underline="always">
        Revision {revision}
      </Anchor>
    ),
  },
  {
    header: "State",
    renderCell: ({ state, reason }) => (
      <>
        <RolloutStateLabel state={state} />
        {reason !== null && (
          <Text size="xs" component="div">
            <SafeText text={reason} max={300} />
          </Text>
        )}
      </>
    ),
  },
  { header: "Targets", renderCell: ({ counts }) => <CountBar counts={counts} /> },
  { header: "Made", isNarrow: true, renderCell: ({ created_at: at }) => <Age at={at} /> },
  { header: "By", renderCell: ({ created_by: by }) => <SafeText text={by.name ?? by.id} max={200} /> },
];

/** The rollouts of a fleet, newest first. */
export function Rollouts({ fleet }: { readonly fleet: string }): ReactNode {
  const rollouts = useInfiniteQuery({
    queryKey: [...KEYS.fleets, "rollouts", fleet],
    queryFn: ({ signal, pageParam }) =>
      call("GET /v1/fleets/{fleet}/rollouts", { path: { fleet }, signal, query: { limit: "10", cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  return (
    <section aria-labelledby="rollouts">
      <Title order={2} id="rollouts" mb="xs">
        Rollouts
      </Title>
      <Loaded query={rollouts}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.rollouts);
          if (rows.length === 0) return <Text size="sm">There was no rollout yet.</Text>;
          return <Table label="Rollouts" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />;
        }}
      </Loaded>
      <MoreButton query={rollouts} />
    </section>
  );
}
