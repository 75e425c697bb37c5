import { Group, NativeSelect, TextInput } from "@mantine/core";
import { type ReactNode, useId } from "react";
import { type DurationText, UNITS } from "./duration-text.ts";

interface Props {
  readonly label: string;
  readonly description?: string;
  readonly placeholder?: string;
  readonly value: DurationText;
  readonly onChange: (value: DurationText) => void;
}

/** A number and its unit. */
export function DurationField({ label, description, placeholder, value, onChange }: Props): ReactNode {
  const id = useId();
  return (
    <Group gap="xs" align="end" wrap="nowrap">
      <TextInput
        id={id}
        type="number"
        min="0"
        step="any"
        label={label}
        description={description}
        placeholder={placeholder}
        value={value.number}
        onChange={({ currentTarget }) => onChange({ ...value, number: currentTarget.value })}
        style={{ flex: 1 }}
      />
      <NativeSelect
        aria-label={`Unit of: ${label}`}
        data={[...UNITS]}
        value={value.unit}
        onChange={({ currentTarget }) => onChange({ ...value, unit: currentTarget.value })}
      />
    </Group>
  );
}
