import { NativeSelect } from "@mantine/core";
import type { ReactNode } from "react";
import { serverNow } from "../api/reachability.ts";

const DAY_S = 24 * 3600;

const CHOICES = [
  { value: "30", label: "in 30 days" },
  { value: "90", label: "in 90 days" },
  { value: "365", label: "in a year" },
  { value: "never", label: "never" },
] as const;
/** Days, or `never`. */
export type Expiry = (typeof CHOICES)[number]["value"];

/** Returns the expiry in Unix seconds; `undefined` for never. */
export function expiryTime(expiry: Expiry): number | undefined {
  return expiry === "never" ? undefined : Math.floor(serverNow() / 1000) + Number(expiry) * DAY_S;
}

interface Props {
  readonly value: Expiry | "keep";
  readonly onChange: (value: Expiry | "keep") => void;
  /** Label of a first choice that leaves the expiry as it is. */
  readonly keepLabel?: string;
  readonly canBeNever?: boolean;
}

export function ExpirySelect({ value, onChange, keepLabel, canBeNever = true }: Props): ReactNode {
  return (
    <NativeSelect
      label="Expires"
      data={[
        ...(keepLabel === undefined ? [] : [{ value: "keep", label: keepLabel }]),
        ...CHOICES.filter((choice) => canBeNever || choice.value !== "never"),
      ]}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value as Expiry | "keep")}
    />
  );
}
