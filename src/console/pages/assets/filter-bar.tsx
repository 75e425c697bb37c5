import { Button, NativeSelect, TextInput } from "@mantine/core";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { Icon } from "../../parts/icon.tsx";
import { REASONS } from "../../parts/reason.tsx";
import classes from "./assets.module.css";
import { type AssetFilters, hasFilters, MAX_SEARCH_LENGTH, NO_FILTERS } from "./filters.ts";

const SEARCH_DELAY_MS = 150;

interface Props {
  readonly filters: AssetFilters;
  readonly onChange: (filters: AssetFilters) => void;
}

/** Search and filters. What is typed takes effect after a moment, so that not each letter is a request. */
export function FilterBar({ filters, onChange }: Props): ReactNode {
  const set = (change: Partial<AssetFilters>): void => onChange({ ...filters, ...change });
  const attention = [
    { value: "", label: "Any condition" },
    { value: "any", label: "Needs attention" },
    ...Object.entries(REASONS).map(([value, { label }]) => ({ value, label: `· ${label}` })),
  ];
  return (
    <search className={classes.filters}>
      <DelayedInput
        label="Search"
        placeholder="Name or serial number"
        value={filters.q}
        maxLength={MAX_SEARCH_LENGTH}
        onChange={(q) => set({ q })}
      />
      <NativeSelect
        label="Link"
        value={filters.connected}
        data={[
          { value: "", label: "Any link" },
          { value: "true", label: "Connected" },
          { value: "false", label: "Not connected" },
        ]}
        onChange={({ currentTarget }) => set({ connected: currentTarget.value as AssetFilters["connected"] })}
      />
      <NativeSelect
        label="Attention"
        value={filters.attention}
        data={attention}
        onChange={({ currentTarget }) => set({ attention: currentTarget.value as AssetFilters["attention"] })}
      />
      <NativeSelect
        label="SIM status"
        value={filters.status}
        data={[
          { value: "", label: "Any status" },
          { value: "active", label: "Active" },
          { value: "inactive", label: "Inactive" },
        ]}
        onChange={({ currentTarget }) => set({ status: currentTarget.value as AssetFilters["status"] })}
      />
      <DelayedInput
        label="Type"
        placeholder="Exactly"
        value={filters.type}
        maxLength={64}
        onChange={(type) => set({ type })}
      />
      <DelayedInput
        label="Agent version"
        placeholder="Exactly"
        value={filters.agentVersion}
        maxLength={64}
        onChange={(agentVersion) => set({ agentVersion })}
      />
      {hasFilters(filters) && (
        <Button
          variant="subtle"
          className={classes.clear}
          onClick={() => onChange(NO_FILTERS)}
          leftSection={<Icon name="cross" size={14} />}
        >
          Clear
        </Button>
      )}
    </search>
  );
}

interface InputProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly maxLength: number;
  readonly onChange: (value: string) => void;
}

function DelayedInput({ label, placeholder, value, maxLength, onChange }: InputProps): ReactNode {
  const [typed, setTyped] = useState(value);
  const latest = useRef(onChange);
  useEffect(() => {
    latest.current = onChange;
  });
  // The address may change by itself: by the browser's buttons, or by "Clear".
  // oxlint-disable-next-line react/set-state-in-effect
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed.trim() === value) return undefined;
    const timer = setTimeout(() => latest.current(typed.trim()), SEARCH_DELAY_MS);
    return () => clearTimeout(timer);
  }, [typed, value]);
  return (
    <TextInput
      label={label}
      placeholder={placeholder}
      value={typed}
      maxLength={maxLength}
      spellCheck={false}
      autoComplete="off"
      onChange={({ currentTarget }) => setTyped(currentTarget.value)}
    />
  );
}
