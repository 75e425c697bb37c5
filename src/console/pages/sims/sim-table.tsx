import { Anchor, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { SimEntry } from "../../api/types.ts";
import { Age } from "../../parts/age.tsx";
import { Bytes } from "../../parts/bytes.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { AllowanceBar } from "./allowance-bar.tsx";
import { planState, usedText } from "./allowance-words.ts";
import { SimState } from "./sim-state.tsx";
import { SIM_NAMES } from "./sim-words.ts";
import classes from "./sims.module.css";

const COLUMNS: readonly Column<SimEntry>[] = [
  {
    header: "Asset",
    renderCell: ({ asset_id: id, asset_name: name, serial_number: serial }) => (
      <div className={classes.asset}>
        <Anchor component={Link} to={`/assets/${id}?tab=sims`} inherit underline="always">
          <SafeText text={name} max={200} />
        </Anchor>
        {serial !== name && (
          <Text size="xs" c="dimmed">
            {serial}
          </Text>
        )}
      </div>
    ),
  },
  {
    header: "SIM",
    isNarrow: true,
    renderCell: ({ type, iccid }) => (
      <>
        {SIM_NAMES[type]}
        <Text size="xs" c="dimmed">
          {iccid}
        </Text>
      </>
    ),
  },
  { header: "State", renderCell: (sim) => <SimState sim={sim} /> },
  {
    header: "Network",
    isNarrow: true,
    renderCell: ({ network_group: group, service_profile: profile }) => group ?? profile ?? "–",
  },
  { header: "Allowance", renderCell: ({ allowance }) => (allowance ? <Allowance allowance={allowance} /> : "none") },
  {
    header: "Operator asked",
    isNarrow: true,
    renderCell: ({ checked_at: at }) => <Age at={at} never="not asked" />,
  },
];

/** SIMs with what their operators said of them last. */
export function SimTable({ sims }: { readonly sims: readonly SimEntry[] }): ReactNode {
  return <Table label="SIMs" columns={COLUMNS} rows={sims} keyOf={({ asset_id: id, type }) => `${id} ${type}`} />;
}

function Allowance({ allowance }: Required<Pick<SimEntry, "allowance">>): ReactNode {
  const { bytes, used_bytes: used, forecast_bytes: forecast } = allowance;
  if (used === undefined || forecast === undefined)
    return (
      <>
        <Bytes value={bytes} />, use not known yet
      </>
    );
  const known = { bytes, used_bytes: used, forecast_bytes: forecast };
  const state = planState(known);
  return (
    <div className={classes.allowance}>
      <AllowanceBar allowance={known} />
      <div>{usedText(known)}</div>
      {state !== "ok" && (
        <State kind={state === "spent" ? "bad" : "warn"} icon="alert">
          {state === "spent" ? "used up" : "will not last"}
        </State>
      )}
    </div>
  );
}
