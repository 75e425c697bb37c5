import { NativeSelect, useMantineColorScheme } from "@mantine/core";
import type { ReactNode } from "react";

const SCHEMES = [
  { value: "auto", label: "As the system" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
] as const;

export function ColorSchemeSelect(): ReactNode {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <NativeSelect
      size="xs"
      label="Colours"
      data={SCHEMES}
      value={colorScheme}
      onChange={({ currentTarget }) => setColorScheme(currentTarget.value as (typeof SCHEMES)[number]["value"])}
    />
  );
}
