import { Anchor, Button, Group, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "react-router";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { MemberStateName } from "../../../protocol/fleets/fleet-member.ts";
import type { Fleet, FleetMember } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MEMBER_STATE_NAMES, MEMBER_STATES, memberWait } from "../../parts/member-states.ts";
import { MoreButton } from "../../parts/more-button.tsx";
import { State, TargetStateLabel } from "../../parts/state.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { type Column, Table } from "../../parts/table.tsx";

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
  { header: "State", renderCell: (member) => <MemberState member={member} /> },
  {
    header: "Since",
    isNarrow: true,
    renderCell: ({ since }) => (since === null ? "–" : <Age at={since} />),
  },
  {
    header: "In the rollout",
    isNarrow: true,
    renderCell: ({ target_state: state }) => (state === null ? "–" : <TargetStateLabel state={state} />),
  },
];

function MemberState({ member }: { readonly member: FleetMember }): ReactNode {
  const { state, for: waitsFor, message, differences, repair } = member;
  const { label, kind, icon } = MEMBER_STATES[state];
  const by = differences.flatMap(({ by: who }) => (who === null ? [] : [WHO[who]]))[0];
  return (
    <>
      <State kind={kind} icon={icon}>
        {waitsFor === undefined ? label : `${label} ${memberWait(waitsFor)}`}
      </State>
      {message !== null && (
        <Text size="xs" component="div">
          <SafeText text={message} max={300} />
          {by !== undefined && ` By ${by}.`}
        </Text>
      )}
      {repair !== undefined && (
        <Text size="xs" component="div">
          Repaired {repair.count} {repair.count === 1 ? "time" : "times"} so far
          {repair.next_at === null ? "; left alone until a person reapplies the fleet." : "."}
        </Text>
      )}
    </>
  );
}

const WHO = {
  local: "a command on the device",
  api: "a deployment over the API",
  foreign: "another tool of the engine",
} as const;

/** The assets of a fleet with how they are. */
export function Members({ fleet }: { readonly fleet: Fleet }): ReactNode {
  const [only, setOnly] = useState<MemberStateName>();
  const { name, states: counts } = fleet;
  const members = useInfiniteQuery({
    queryKey: [...KEYS.fleets, "members", name, only],
    queryFn: ({ signal, pageParam }) =>
      call("GET /v1/fleets/{fleet}/members", {
        path: { fleet: name },
        signal,
        query: { cursor: pageParam, state: only },
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  const shown = MEMBER_STATE_NAMES.filter((state) => state === only || (counts[state] ?? 0) > 0);
  return (
    <section aria-labelledby="members">
      <Title order={2} id="members" mb="xs">
        Members
      </Title>
      <Group gap="xs" mb="xs" role="group" aria-label="State">
        <StateButton isPressed={only === undefined} onClick={() => setOnly(undefined)}>
          All {fleet.members.toLocaleString("en")}
        </StateButton>
        {shown.map((state) => (
          <StateButton key={state} isPressed={only === state} onClick={() => setOnly(state)}>
            {`${MEMBER_STATES[state].label} ${(counts[state] ?? 0).toLocaleString("en")}`}
          </StateButton>
        ))}
      </Group>
      <Loaded query={members}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.members);
          if (rows.length === 0)
            return <Text size="sm">{only ? "No member is in this state." : "The selector matches no asset now."}</Text>;
          return <Table label="Members" columns={COLUMNS} rows={rows} keyOf={({ asset_id: id }) => id} />;
        }}
      </Loaded>
      <MoreButton query={members} />
    </section>
  );
}

function StateButton(props: {
  readonly isPressed: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const { isPressed, onClick, children } = props;
  return (
    <Button size="xs" variant={isPressed ? "filled" : "default"} aria-pressed={isPressed} onClick={onClick}>
      {children}
    </Button>
  );
}
