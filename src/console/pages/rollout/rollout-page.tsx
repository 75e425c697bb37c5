import { Anchor, Group, Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import type { Rollout } from "../../../protocol/api-types.ts";
import { CountBar } from "../../parts/count-bar.tsx";
import { formatDuration } from "../../parts/durations.ts";
import { formatAssets } from "../../parts/target-states.ts";
import classes from "./rollout.module.css";
import { describeRollout, isOpen } from "./verdict.ts";
import { Link, useParams } from "react-router";
import { Age } from "../../parts/age.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { Note } from "../../parts/note.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { RolloutStateLabel } from "../../parts/state.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { CommandButtons, RetryButton } from "./command-buttons.tsx";
import { useRollout } from "./rollout-queries.ts";
import { Targets } from "./targets.tsx";

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

/** One rollout as it goes on: how it is and why, its waves, and its assets, those that failed first. */
export function RolloutPage(): ReactNode {
  const { fleet = "", rollout_id: id = "" } = useParams();
  const path = { fleet, rollout_id: id };
  const rollout = useRollout(path);
  return (
    <Loaded query={rollout}>
      {(data) => (
        <>
          <PageTitle
            title={`Rollout of ${data.fleet}, revision ${data.revision}`}
            heading={
              <>
                Rollout of{" "}
                <Anchor component={Link} to={`/fleets/${encodeURIComponent(data.fleet)}`} inherit underline="always">
                  {data.fleet}
                </Anchor>
                , revision {data.revision}
              </>
            }
            actions={
              <>
                <RetryButton path={path} rollout={data} />
                <CommandButtons path={path} rollout={data} />
              </>
            }
          />
          <Stack gap="lg">
            <Facts rollout={data} />
            <VerdictNote rollout={data} />
            <Waves rollout={data} />
            <Targets path={path} rollout={data} />
          </Stack>
        </>
      )}
    </Loaded>
  );
}

function Facts({ rollout }: { readonly rollout: Rollout }): ReactNode {
  const { state, created_by: maker, created_at: madeAt, approved_by: approver, finished_at: endedAt } = rollout;
  return (
    <Group gap="xs">
      <RolloutStateLabel state={state} />
      <Text size="sm" component="div">
        {"made "}
        <Age at={madeAt} />
        {" by "}
        <SafeText text={maker.name ?? maker.id} max={200} />
        {approver && (
          <>
            {" · approved by "}
            <SafeText text={approver.name ?? approver.id} max={200} />
          </>
        )}
        {endedAt !== null && (
          <>
            {" · ended "}
            <Age at={endedAt} />
          </>
        )}
      </Text>
    </Group>
  );
}

function VerdictNote({ rollout }: { readonly rollout: Rollout }): ReactNode {
  const { kind, title, now, advice } = describeRollout(rollout);
  return (
    <Note kind={kind} title={title}>
      {rollout.reason !== null && (
        <div>
          <SafeText text={rollout.reason} max={1000} />
        </div>
      )}
      <div>{now}</div>
      {advice !== undefined && <div>{advice}</div>}
    </Note>
  );
}
