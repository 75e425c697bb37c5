import { Anchor, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { FleetMember } from "../../api/types.ts";
import type { IconName } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { TargetStateLabel } from "../../parts/rollout-state.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";

interface StateText {
  readonly label: string;
  readonly kind: "good" | "plain" | "warn" | "bad";
  readonly icon: IconName;
}

const STATES: Readonly<Record<FleetMember["state"], StateText>> = {
  current: { label: "runs the stable revision", kind: "good", icon: "check" },
  other: { label: "runs another revision", kind: "plain", icon: "info" },
  updating: { label: "updating", kind: "plain", icon: "clock" },
  drifted: { label: "drifted: changed on the device or by hand", kind: "warn", icon: "alert" },
  conflict: { label: "conflict", kind: "warn", icon: "alert" },
  new: { label: "nothing brought yet", kind: "plain", icon: "info" },
};

const COLUMNS: readonly Column<FleetMember>[] = [
  {
    header: "Asset",
    renderCell: ({ asset_id: id, asset_name: name }) => (
      <Anchor component={Link} to={`/assets/${id}`} inherit underline="always">
        <SafeText text={name} max={200} />
      </Anchor>
    ),
  },
  { header: "Revision", isNarrow: true, renderCell: ({ revision }) => revision ?? "none" },
  {
    header: "State",
    renderCell: ({ state, conflict }) => (
      <>
        <State kind={STATES[state].kind} icon={STATES[state].icon}>
          {STATES[state].label}
        </State>
        {conflict !== null && (
          <Text size="xs" component="div">
            Another fleet owns <SafeText text={conflict} max={100} /> there.
          </Text>
        )}
      </>
    ),
  },
  {
    header: "In the rollout",
    isNarrow: true,
    renderCell: ({ target_state: state }) => (state === null ? "–" : <TargetStateLabel state={state} />),
  },
];

/** The assets of a fleet with what they run. */
export function Members({ fleet }: { readonly fleet: string }): ReactNode {
  const members = useInfiniteQuery({
    queryKey: [...KEYS.fleets, "members", fleet],
    queryFn: ({ signal, pageParam }) =>
      call("GET /v1/fleets/{fleet}/members", { path: { fleet }, signal, query: { cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  return (
    <section aria-labelledby="members">
      <Title order={2} id="members" mb="xs">
        Members
      </Title>
      <Loaded query={members}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.members);
          if (rows.length === 0) return <Text size="sm">The selector matches no asset now.</Text>;
          return <Table label="Members" columns={COLUMNS} rows={rows} keyOf={({ asset_id: id }) => id} />;
        }}
      </Loaded>
      <MoreButton query={members} />
    </section>
  );
}
