import { Button, Group, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { ApiKey } from "../../api/types.ts";
import { Age } from "../../parts/age.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { KeyState } from "./key-state.tsx";

interface Props {
  readonly keys: readonly ApiKey[];
  readonly onAction: (kind: "change" | "revoke", key: ApiKey) => void;
}

export function KeyTable({ keys, onAction }: Props): ReactNode {
  const columns: readonly Column<ApiKey>[] = [
    {
      header: "Name",
      renderCell: ({ id, name, permissions, belongs_to }) => (
        <>
          <Text size="sm" fw={600} component="div">
            <SafeText text={name} max={200} />
          </Text>
          <Text size="xs" c="dimmed" component="div">
            {id}
            {belongs_to === "person" ? " · falls with its person" : " · of the account"}
            {permissions.length > 0 && ` · ${permissions.join(", ")}`}
          </Text>
        </>
      ),
    },
    { header: "Role", renderCell: ({ role }) => role, isNarrow: true },
    { header: "State", renderCell: (key) => <KeyState apiKey={key} />, isNarrow: true },
    { header: "Created", renderCell: ({ created_at }) => <Age at={created_at} />, isNarrow: true },
    { header: "Expires", renderCell: ({ expires_at }) => <Age at={expires_at} />, isNarrow: true },
    { header: "Last used", renderCell: ({ last_used_at }) => <Age at={last_used_at} />, isNarrow: true },
    {
      header: "Actions",
      hidesHeader: true,
      isNarrow: true,
      renderCell: (key) =>
        key.revoked_at === null && (
          <Group gap={6} wrap="nowrap">
            <Button
              size="compact-xs"
              variant="default"
              aria-label={`Change: ${key.name}`}
              onClick={() => onAction("change", key)}
            >
              Change
            </Button>
            <Button
              size="compact-xs"
              variant="default"
              aria-label={`Revoke: ${key.name}`}
              onClick={() => onAction("revoke", key)}
            >
              Revoke
            </Button>
          </Group>
        ),
    },
  ];
  return <Table label="API keys" columns={columns} rows={keys} keyOf={({ id }) => id} />;
}
