import { Group, Text } from "@mantine/core";
import type { ReactNode } from "react";

export function Logo(): ReactNode {
  return (
    <Group gap="xs" wrap="nowrap">
      <svg width="24" height="24" viewBox="0 0 16 16" aria-hidden="true">
        <rect width="16" height="16" rx="3" fill="#1864ab" />
        <path d="M4 5h8M4 8h5M4 11h8" stroke="#fff" strokeWidth="1.6" strokeLinecap="round" />
      </svg>
      <Text fw={600} size="lg" style={{ whiteSpace: "nowrap" }}>
        edge-control
      </Text>
    </Group>
  );
}
