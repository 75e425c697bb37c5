import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { isRolloutOver } from "../../../protocol/rollout-over.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import type { FleetListItem } from "../../api/types.ts";
import { CountBar } from "../../parts/count-bar.tsx";
import { RolloutStateLabel } from "../../parts/rollout-state.tsx";

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
