import { NativeSelect } from "@mantine/core";
import type { ReactNode } from "react";
import { readSimFilters, type SimFilters } from "./sim-filters.ts";
import { SIM_NAMES } from "./sim-words.ts";
import classes from "./sims.module.css";

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
