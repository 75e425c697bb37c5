import { Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import type { Rollout } from "../../api/types.ts";
import { CountBar } from "../../parts/count-bar.tsx";
import { formatDuration } from "../../parts/durations.ts";
import { formatAssets } from "../../parts/target-states.ts";
import classes from "./rollout.module.css";
import { isOpen } from "./verdict.ts";

/** The waves as steps, each with its assets by state. */
export function Waves({ rollout }: { readonly rollout: Rollout }): ReactNode {
  const { waves, wave: current } = rollout;
  return (
    <section aria-labelledby="waves">
      <Title order={2} id="waves" mb="xs">
        Waves
      </Title>
      <ol className={classes.waves}>
        {waves.map(({ wave, targets, counts, advance, soak_s: soak }) => (
          <li
            key={wave}
            className={classes.wave}
            aria-current={isOpen(rollout) && wave === current ? "step" : undefined}
          >
            <Text fw={600} size="sm" mb={6}>
              Wave {wave}
              {isOpen(rollout) && wave === current && " (now)"}: {formatAssets(targets)}
            </Text>
            <CountBar counts={counts} />
            <Text size="xs" c="dimmed" mt={4}>
              {soak === 0 ? "No soak" : `Soak ${formatDuration(soak)}`}
              {wave < waves.length && (advance === "manual" ? " · then waits for you" : " · then goes on by itself")}
            </Text>
          </li>
        ))}
      </ol>
    </section>
  );
}
