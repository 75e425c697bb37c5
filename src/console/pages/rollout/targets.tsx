import { Anchor, Button, Text, Title } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { Link } from "react-router";
import type { TargetState } from "../../../protocol/rollout.ts";
import type { Rollout, RolloutTarget } from "../../api/types.ts";
import { Age } from "../../parts/age.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { TargetStateLabel } from "../../parts/rollout-state.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { TARGET_STATE_NAMES, TARGET_STATES, WAIT_REASONS } from "../../parts/target-states.ts";
import { PastAttempts } from "./past-attempts.tsx";
import { type RolloutPath, useTargets } from "./rollout-queries.ts";
import classes from "./rollout.module.css";
import { flatten } from "./target-pages.ts";

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
