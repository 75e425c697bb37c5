import { Code, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { Fleet } from "../../api/types.ts";
import { Facts } from "../../parts/facts.tsx";
import { formatMemberCounts } from "../../parts/member-states.ts";
import { SafeText } from "../../parts/safe-text.tsx";
import { formatAssets } from "../../parts/target-states.ts";
import { describeStrategy } from "./strategy-words.ts";

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
