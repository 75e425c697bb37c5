import { Anchor, Button, Text, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Link } from "react-router";
import type { Rollout, RolloutAttempt, RolloutTarget } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import classes from "./rollout.module.css";
import type { TargetState } from "../../../protocol/fleets/rollout.ts";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { TargetStateLabel } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { TARGET_STATE_NAMES, TARGET_STATES, WAIT_REASONS } from "../../parts/target-states.ts";
import { type RolloutPath, useTargets } from "./rollout-queries.ts";
import { flatten } from "./target-pages.ts";

const MAX_LINES = 5;

/** What a target went through, also before it went back: closed at first, since most people look at a few. */
function PastAttempts({ target }: { readonly target: RolloutTarget }): ReactNode {
  const { attempts, asset_id: asset } = target;
  if (attempts.length === 0) return null;
  return (
    <details className={classes.past}>
      <summary>{attempts.length === 1 ? "1 past attempt" : `${attempts.length} past attempts`}</summary>
      <ol>
        {attempts.map((attempt) => (
          <li key={`${attempt.direction} ${attempt.attempt}`}>
            <PastAttempt asset={asset} attempt={attempt} />
          </li>
        ))}
      </ol>
    </details>
  );
}

function PastAttempt({ asset, attempt }: { readonly asset: string; readonly attempt: RolloutAttempt }): ReactNode {
  const { direction, attempt: number, state, code, message, deployment_id: id, ended_at: endedAt, logs } = attempt;
  const lines = (logs ?? "").split("\n").filter((line) => line !== "");
  const label = `Attempt ${number}${direction === "back" ? " to go back" : ""}`;
  return (
    <>
      <Text size="xs" component="div">
        {id === undefined ? (
          label
        ) : (
          <Anchor component={Link} to={`/assets/${asset}/deployments/${id}`} inherit underline="always">
            {label}
          </Anchor>
        )}
        {`: ${state.replaceAll("_", " ")}${code === undefined ? "" : `, ${code}`}, `}
        <Age at={endedAt} />
      </Text>
      {message !== undefined && (
        <Text size="xs" component="div">
          <SafeText text={message} max={500} />
        </Text>
      )}
      {lines.length > 0 && (
        <pre className={classes.output}>
          {lines.slice(-MAX_LINES).map((line, index) => (
            // Lines have no identity of their own.
            // oxlint-disable-next-line react/no-array-index-key
            <div key={index}>
              <SafeText text={line} max={300} />
            </div>
          ))}
        </pre>
      )}
    </>
  );
}

const COLUMNS: readonly Column<RolloutTarget>[] = [
  {
    header: "Asset",
    renderCell: ({ asset_id: id, asset_name: name }) => (
      <Anchor component={Link} to={`/assets/${id}`} inherit underline="always">
        <SafeText text={name} max={200} />
      </Anchor>
    ),
  },
  { header: "State", isNarrow: true, renderCell: ({ state }) => <TargetStateLabel state={state} /> },
  { header: "Why", renderCell: (target) => <Why target={target} /> },
  { header: "Wave", isNarrow: true, renderCell: ({ wave }) => wave },
  { header: "Since", isNarrow: true, renderCell: ({ since }) => <Age at={since} /> },
  {
    header: "Deployment",
    isNarrow: true,
    renderCell: ({ asset_id: id, deployment_id: deployment, attempt }) =>
      deployment === undefined ? (
        "none"
      ) : (
        <Anchor component={Link} to={`/assets/${id}/deployments/${deployment}`} inherit underline="always">
          Attempt {attempt}
        </Anchor>
      ),
  },
];

/** The assets of a rollout, those that failed first, with the reason of each. */
export function Targets({ path, rollout }: { readonly path: RolloutPath; readonly rollout: Rollout }): ReactNode {
  const [only, setOnly] = useState<TargetState>();
  const targets = useTargets(path, rollout, only);
  const { counts } = rollout;
  const shown = TARGET_STATE_NAMES.filter((state) => state === only || counts[state] > 0);
  return (
    <section aria-labelledby="targets">
      <Title order={2} id="targets" mb="xs">
        Assets
      </Title>
      <div className={classes.filter} role="group" aria-label="State">
        <FilterButton isPressed={only === undefined} onClick={() => setOnly(undefined)}>
          All {rollout.targets.toLocaleString("en")}
        </FilterButton>
        {shown.map((state) => (
          <FilterButton key={state} isPressed={only === state} onClick={() => setOnly(state)}>
            {`${TARGET_STATES[state].label} ${(rollout as { counts: Partial<typeof counts> }).counts[state] ?? 0}`}
          </FilterButton>
        ))}
      </div>
      <Loaded query={targets}>
        {({ pages }) => {
          const rows = flatten(pages);
          if (rows.length === 0) return <Text size="sm">No asset is in this state.</Text>;
          return <Table label="Assets" columns={COLUMNS} rows={rows} keyOf={({ asset_id: id }) => id} />;
        }}
      </Loaded>
      <MoreButton query={targets} />
    </section>
  );
}

interface FilterButtonProps {
  readonly isPressed: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

function FilterButton({ isPressed, onClick, children }: FilterButtonProps): ReactNode {
  return (
    <Button size="compact-sm" variant={isPressed ? "filled" : "default"} aria-pressed={isPressed} onClick={onClick}>
      {children}
    </Button>
  );
}

function Why({ target }: { readonly target: RolloutTarget }): ReactNode {
  const { for: reason, until, code, message } = target;
  return (
    <>
      {reason !== undefined && (
        <div>
          Waits {WAIT_REASONS[reason]}
          {until !== undefined && (
            <>
              , at the latest <Age at={until} />
            </>
          )}
          .
        </div>
      )}
      {message !== undefined && <SafeText text={message} max={500} />}
      {code !== undefined && (
        <Text size="xs" c="dimmed">
          {code}
        </Text>
      )}
      <PastAttempts target={target} />
    </>
  );
}
