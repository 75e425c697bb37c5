import { Anchor, NativeSelect, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { readSimFilters, type SimFilters } from "./sim-filters.ts";
import { SIM_NAMES } from "./sim-words.ts";
import classes from "./sims.module.css";
import { Link, useSearchParams } from "react-router";
import type { SimEntry } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { Bytes } from "../../parts/bytes.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { AllowanceBar } from "./allowance-bar.tsx";
import { planState, usedText } from "./allowance-words.ts";
import { SimState } from "./sim-state.tsx";
import { useInfiniteQuery } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PlanSettings } from "./plan-settings.tsx";

interface Props {
  readonly filters: SimFilters;
  readonly onChange: (filters: SimFilters) => void;
}

const TYPES = [
  { value: "", label: "Any type" },
  ...Object.entries(SIM_NAMES).map(([value, label]) => ({ value, label })),
];
const PLANS = [
  { value: "", label: "Any" },
  { value: "data", label: "Used up, or too short for the month" },
];

export function SimFilterBar({ filters, onChange }: Props): ReactNode {
  const set = (change: Readonly<Record<string, string>>): void =>
    onChange(readSimFilters(new URLSearchParams({ ...filters, ...change })));
  return (
    <search className={classes.filters} aria-label="Filters">
      <NativeSelect
        label="Type"
        data={TYPES}
        value={filters.type ?? ""}
        onChange={({ currentTarget }) => set({ type: currentTarget.value })}
      />
      <NativeSelect
        label="Allowance"
        data={PLANS}
        value={filters.attention ?? ""}
        onChange={({ currentTarget }) => set({ attention: currentTarget.value })}
      />
    </search>
  );
}

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

/** The SIMs of all assets, filtered by the address of the page, and the account's settings of their data plans. */
export function SimsPage(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const filters = readSimFilters(parameters);
  const sims = useInfiniteQuery({
    queryKey: [...KEYS.sims, filters],
    queryFn: ({ signal, pageParam }) => call("GET /v1/sims", { signal, query: { ...filters, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  const setFilters = (next: SimFilters): void => setParameters({ ...next }, { replace: true });
  return (
    <>
      <PageTitle title="SIMs" />
      <Stack gap="xl">
        <div>
          <SimFilterBar filters={filters} onChange={setFilters} />
          <Loaded query={sims}>
            {({ pages }) => {
              const rows = pages.flatMap((page) => page.sims);
              if (rows.length > 0) return <SimTable sims={rows} />;
              return <NoSims isFiltered={Object.keys(filters).length > 0} />;
            }}
          </Loaded>
          <MoreButton query={sims} />
        </div>
        <PlanSettings />
      </Stack>
    </>
  );
}

function NoSims({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  if (isFiltered) return <Empty title="No SIM matches.">Other SIMs of the account are not shown.</Empty>;
  return <Empty title="There are no SIMs yet.">SIMs are given when an asset is registered.</Empty>;
}
