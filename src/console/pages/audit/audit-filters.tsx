import { Button, NativeSelect, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import classes from "./audit-filters.module.css";
import { ACTION_GROUPS } from "./action-groups.ts";
import { type FilterName, useFilters } from "./use-filters.ts";

const ACTIONS = [{ value: "", label: "all" }, ...ACTION_GROUPS];
const OUTCOMES = [
  { value: "", label: "all" },
  { value: "ok", label: "succeeded" },
  { value: "failed", label: "refused or failed" },
];

export function AuditFilters(): ReactNode {
  const { shown, set, clear, isFiltered } = useFilters();
  const own = shown.action !== undefined && !ACTIONS.some(({ value }) => value === shown.action);
  return (
    <search className={classes.filters} aria-label="Filters">
      <NativeSelect
        size="xs"
        label="What"
        data={own ? [...ACTIONS, shown.action ?? ""] : ACTIONS}
        value={shown.action ?? ""}
        onChange={({ currentTarget }) => set({ action: currentTarget.value })}
      />
      <NativeSelect
        size="xs"
        label="Outcome"
        data={OUTCOMES}
        value={shown.outcome ?? ""}
        onChange={({ currentTarget }) => set({ outcome: currentTarget.value })}
      />
      <TextFilter key={`asset ${shown.asset ?? ""}`} label="Asset" name="asset" />
      <TextFilter key={`actor ${shown.actor ?? ""}`} label="Who (id)" name="actor" />
      <TimeFilter label="From" name="since" />
      <TimeFilter label="Until" name="until" />
      {isFiltered && (
        <Button size="xs" variant="default" onClick={clear}>
          Clear
        </Button>
      )}
    </search>
  );
}

interface FilterProps {
  readonly label: string;
  readonly name: FilterName;
}

/** Takes effect with Enter, or when the field is left. */
function TextFilter({ label, name }: FilterProps): ReactNode {
  const { shown, set } = useFilters();
  const [text, setText] = useState(shown[name] ?? "");
  const apply = (): void => {
    if (text !== (shown[name] ?? "")) set({ [name]: text.trim() });
  };
  return (
    <TextInput
      size="xs"
      label={label}
      value={text}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onBlur={apply}
      onKeyDown={({ key }) => {
        if (key === "Enter") apply();
      }}
    />
  );
}

function TimeFilter({ label, name }: FilterProps): ReactNode {
  const { shown, set } = useFilters();
  return (
    <TextInput
      size="xs"
      type="datetime-local"
      label={label}
      value={shown[name] ?? ""}
      onChange={({ currentTarget }) => set({ [name]: currentTarget.value })}
    />
  );
}
