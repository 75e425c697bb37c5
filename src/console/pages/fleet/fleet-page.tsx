import { Code, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { Fleet } from "../../../protocol/api-types.ts";
import { Facts } from "../../parts/facts.tsx";
import { formatMemberCounts } from "../../parts/member-states.ts";
import { SafeText } from "../../parts/safe-text.tsx";
import { formatAssets } from "../../parts/target-states.ts";
import { describeStrategy } from "./strategy-words.ts";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { Note } from "../../parts/note.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { Members } from "./members.tsx";
import { Revisions } from "./revisions.tsx";
import { Rollouts } from "./rollouts.tsx";

/** What a fleet is: its assets, its apps and how its rollouts go. */
export function FleetFacts({ fleet }: { readonly fleet: Fleet }): ReactNode {
  const { selector, members, apps, stable_revision: stable, strategy, states, on_drift } = fleet;
  return (
    <Facts
      facts={[
        [
          "Assets with",
          <>
            <Code key="selector">
              <SafeText text={selector} />
            </Code>{" "}
            ({formatAssets(members)} now)
          </>,
        ],
        ["Apps", <SafeText key="apps" text={apps.join(", ")} />],
        ["Stable revision", stable ?? "none yet"],
        ["Now", formatMemberCounts(states) || "not judged yet"],
        ["Changes by hand", on_drift === "repair" ? "shown, and put right by itself" : "shown"],
        [
          "Rollouts",
          describeStrategy(strategy).map((sentence) => (
            <Text key={sentence} size="sm">
              <SafeText text={sentence} />
            </Text>
          )),
        ],
      ]}
    />
  );
}

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
