import { Button, NativeSelect, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { useSearchParams } from "react-router";
import { ALERT_CONDITION_NAMES, ALERT_SEVERITIES } from "../../../protocol/alerts/condition.ts";
import { conditionTitle, SEVERITIES } from "../../parts/alert-words.ts";
import classes from "./alerts.module.css";

/** What the list is restricted to, by the names of the API. It is in the page's address. */
export interface AlertFilters {
  readonly severity?: string;
  readonly condition?: string;
  readonly asset?: string;
}

/** Reads the filters of an address. Values that the page does not know are left out. */
export function readAlertFilters(parameters: URLSearchParams): AlertFilters {
  const severity = ALERT_SEVERITIES.find((each) => each === parameters.get("severity"));
  const condition = ALERT_CONDITION_NAMES.find((each) => each === parameters.get("condition"));
  const asset = (parameters.get("asset") ?? "").trim().slice(0, MAX_ASSET_LENGTH);
  return { ...(severity && { severity }), ...(condition && { condition }), ...(asset !== "" && { asset }) };
}

const MAX_ASSET_LENGTH = 128;

const SEVERITY_DATA = [
  { value: "", label: "any" },
  ...ALERT_SEVERITIES.map((value) => ({ value, label: SEVERITIES[value].label })),
];
const CONDITION_DATA = [
  { value: "", label: "any" },
  ...ALERT_CONDITION_NAMES.map((value) => ({ value, label: conditionTitle(value) })),
];

export function AlertFilterBar({ filters }: { readonly filters: AlertFilters }): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const set = (change: Readonly<Record<string, string>>): void => {
    const next = new URLSearchParams(parameters);
    for (const [name, value] of Object.entries(change)) {
      if (value === "") next.delete(name);
      else next.set(name, value);
    }
    setParameters(next, { replace: true });
  };
  return (
    <search className={classes.filters} aria-label="Filters">
      <NativeSelect
        label="Severity"
        data={SEVERITY_DATA}
        value={filters.severity ?? ""}
        onChange={({ currentTarget }) => set({ severity: currentTarget.value })}
      />
      <NativeSelect
        label="Condition"
        data={CONDITION_DATA}
        value={filters.condition ?? ""}
        onChange={({ currentTarget }) => set({ condition: currentTarget.value })}
      />
      <AssetField key={filters.asset ?? ""} value={filters.asset ?? ""} onChange={(asset) => set({ asset })} />
      {Object.keys(filters).length > 0 && (
        <Button
          variant="default"
          style={{ justifySelf: "start" }}
          onClick={() => set({ severity: "", condition: "", asset: "" })}
        >
          Clear
        </Button>
      )}
    </search>
  );
}

interface FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** Takes effect with Enter, or when the field is left. */
function AssetField({ value, onChange }: FieldProps): ReactNode {
  const [text, setText] = useState(value);
  const apply = (): void => {
    if (text.trim() !== value) onChange(text.trim());
  };
  return (
    <TextInput
      label="Asset"
      placeholder="Serial number or UUID"
      maxLength={MAX_ASSET_LENGTH}
      spellCheck={false}
      autoComplete="off"
      value={text}
      onChange={({ currentTarget }) => setText(currentTarget.value)}
      onBlur={apply}
      onKeyDown={({ key }) => {
        if (key === "Enter") apply();
      }}
    />
  );
}
