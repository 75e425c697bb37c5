import { Button, NativeSelect, TextInput } from "@mantine/core";
import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Icon } from "../../parts/icon.tsx";
import { REASONS } from "../../parts/reason.tsx";
import classes from "./assets.module.css";
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

const SEARCH_DELAY_MS = 150;

interface DelayedInputProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly maxLength: number;
  readonly onChange: (value: string) => void;
}

/** A field whose text takes effect a moment after the last letter, so that not each letter is a request. */
function DelayedInput({ label, placeholder, value, maxLength, onChange }: DelayedInputProps): ReactNode {
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

interface FilterBarProps {
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
export function FilterBar({ filters, onChange }: FilterBarProps): ReactNode {
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

function Fields({ filters, onChange }: FilterBarProps): ReactNode {
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
