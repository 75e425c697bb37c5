import { Button, NativeSelect } from "@mantine/core";
import { type ReactNode, useId, useState } from "react";
import { Icon } from "../../parts/icon.tsx";
import { REASONS } from "../../parts/reason.tsx";
import classes from "./assets.module.css";
import { DelayedInput } from "./delayed-input.tsx";
import {
  type AssetFilters,
  countFilters,
  hasFilters,
  MAX_SEARCH_LENGTH,
  MAX_SELECTOR_LENGTH,
  MAX_VALUE_LENGTH,
  NO_FILTERS,
} from "./filters.ts";
import { useIsNarrow } from "./use-is-narrow.ts";

interface Props {
  readonly filters: AssetFilters;
  readonly onChange: (filters: AssetFilters) => void;
}

const SELECTS = [
  {
    name: "connected",
    label: "Link",
    data: [
      { value: "", label: "Any link" },
      { value: "true", label: "Connected" },
      { value: "false", label: "Not connected" },
    ],
  },
  {
    name: "attention",
    label: "Attention",
    data: [
      { value: "", label: "Any condition" },
      { value: "any", label: "Needs attention" },
      ...Object.entries(REASONS).map(([value, { label }]) => ({ value, label: `· ${label}` })),
    ],
  },
  {
    name: "status",
    label: "SIM status",
    data: [
      { value: "", label: "Any status" },
      { value: "active", label: "Active" },
      { value: "inactive", label: "Inactive" },
    ],
  },
] as const;

const TEXTS = [
  { name: "type", label: "Type", placeholder: "Exactly", maxLength: MAX_VALUE_LENGTH },
  { name: "agentVersion", label: "Agent version", placeholder: "Exactly", maxLength: MAX_VALUE_LENGTH },
  { name: "selector", label: "Tags", placeholder: "role=kiosk,!beta", maxLength: MAX_SELECTOR_LENGTH },
] as const;

/** Search and filters. On a phone the filters are behind a button, which says how many of them are set. */
export function FilterBar({ filters, onChange }: Props): ReactNode {
  const isNarrow = useIsNarrow();
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const count = countFilters(filters);
  return (
    <search className={classes.filters}>
      <DelayedInput
        label="Search"
        placeholder="Name or serial number"
        value={filters.q}
        maxLength={MAX_SEARCH_LENGTH}
        onChange={(q) => onChange({ ...filters, q })}
      />
      {isNarrow && (
        <Button variant="default" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
          Filters{count > 0 && ` (${count})`}
        </Button>
      )}
      <div id={id} className={classes.further} hidden={isNarrow && !isOpen}>
        <Fields filters={filters} onChange={onChange} />
      </div>
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

function Fields({ filters, onChange }: Props): ReactNode {
  return (
    <>
      {SELECTS.map(({ name, label, data }) => (
        <NativeSelect
          key={name}
          label={label}
          value={filters[name]}
          data={data}
          onChange={({ currentTarget }) => onChange({ ...filters, [name]: currentTarget.value })}
        />
      ))}
      {TEXTS.map(({ name, label, placeholder, maxLength }) => (
        <DelayedInput
          key={name}
          label={label}
          placeholder={placeholder}
          value={filters[name]}
          maxLength={maxLength}
          onChange={(value) => onChange({ ...filters, [name]: value })}
        />
      ))}
    </>
  );
}
