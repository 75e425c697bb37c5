import { Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useParams } from "react-router";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { Note } from "../../parts/note.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { FleetFacts } from "./fleet-facts.tsx";
import { Members } from "./members.tsx";
import { Revisions } from "./revisions.tsx";
import { Rollouts } from "./rollouts.tsx";

/** One fleet: what it is, its revisions, its rollouts and its members. */
export function FleetPage(): ReactNode {
  const { fleet: name = "" } = useParams();
  const fleet = useQuery({
    queryKey: [...KEYS.fleets, "one", name],
    queryFn: ({ signal }) => call("GET /v1/fleets/{fleet}", { path: { fleet: name }, signal }),
  });
  return (
    <Loaded query={fleet}>
      {(data) => (
        <>
          <PageTitle title={data.name} />
          <Stack gap="lg">
            {data.paused_reason !== null && (
              <Note kind="warn" title="Nothing of this fleet goes out.">
                <SafeText text={data.paused_reason} max={1000} />
              </Note>
            )}
            <FleetFacts fleet={data} />
            <Revisions fleet={data} />
            <Rollouts fleet={data.name} />
            <Members fleet={data} />
          </Stack>
        </>
      )}
    </Loaded>
  );
}
