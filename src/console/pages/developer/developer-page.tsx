import { type ReactNode, useState } from "react";
import type { ApiKey } from "../../../protocol/api-types.ts";
import { State } from "../../parts/state.tsx";
import { Age, useNow } from "../../parts/age.tsx";
import { Anchor, Button, Checkbox, Code, Group, Stack, Text, Title } from "@mantine/core";
import { SafeText } from "../../parts/safe-text.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { CopyOnce } from "../../parts/copy-once.tsx";
import { toCurl } from "./to-curl.ts";
import { Empty } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { ChangeKeyDialog, CreateKeyDialog, RevokeDialog } from "./key-dialogs.tsx";

export function KeyState({ apiKey }: { readonly apiKey: ApiKey }): ReactNode {
  const now = useNow();
  if (apiKey.revoked_at !== null)
    return (
      <State kind="plain" icon="cross">
        revoked
      </State>
    );
  if (apiKey.expires_at !== null && apiKey.expires_at * 1000 <= now)
    return (
      <State kind="warn" icon="clock">
        expired
      </State>
    );
  return (
    <State kind="good" icon="check">
      valid
    </State>
  );
}

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

const NO_NOTE = "";

/** Ready command lines with an asset of the account. */
export function CurlLines(): ReactNode {
  const { data } = useQuery({
    queryKey: [...KEYS.assets, "first"],
    queryFn: ({ signal }) => call("GET /v1/assets", { signal, query: { limit: "1" } }),
  });
  const asset = data?.assets[0]?.serial_number;
  const base = location.origin;
  const of = (path: string): string => `/v1/assets/${encodeURIComponent(asset ?? "SERIAL-NUMBER")}${path}`;
  const lines = [
    ["The assets of the account", toCurl(base, "GET", "/v1/assets?limit=5")],
    ["What needs attention", toCurl(base, "GET", "/v1/overview")],
    [asset === undefined ? "Apps of an asset" : `Apps of ${asset}`, toCurl(base, "GET", of("/edge/apps"))],
    [
      "Price of a deployment in bytes, without deploying",
      toCurl(base, "POST", of("/edge/apps?dry_run=true"), { name: "web", image: "docker.io/library/nginx:alpine" }),
    ],
  ] as const;
  return (
    <Stack gap="sm">
      <Text size="sm">
        With a key in the environment: <Code>export EDGE_API_KEY=…</Code>
        {data && asset === undefined && " There is no asset yet: put a serial number in the place of SERIAL-NUMBER."}
      </Text>
      {lines.map(([label, line]) => (
        <CopyOnce key={label} label={label} value={line} note={NO_NOTE} />
      ))}
    </Stack>
  );
}

type Action = { readonly kind: "create" } | { readonly kind: "change" | "revoke"; readonly apiKey: ApiKey };

/** API keys of the account, and how to use them. */
export function DeveloperPage(): ReactNode {
  const [action, setAction] = useState<Action>();
  const [showsRevoked, setShowsRevoked] = useState(false);
  const keys = useInfiniteQuery({
    queryKey: KEYS.apiKeys,
    queryFn: ({ signal, pageParam }) => call("GET /v1/api-keys", { signal, query: { cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  const create = (
    <Button leftSection={<Icon name="enrol" size={16} />} onClick={() => setAction({ kind: "create" })}>
      Create an API key
    </Button>
  );
  const onClose = (): void => setAction(undefined);
  return (
    <Stack gap="xl">
      <section aria-label="API keys">
        <PageTitle title="Developer" actions={create} />
        <Text size="sm" mb="sm">
          A program acts for the account with an API key. Everything this console does can be done with the API:{" "}
          <Anchor href="/docs" underline="always" inherit>
            reference of the API
          </Anchor>
          .
        </Text>
        <Loaded query={keys}>
          {({ pages }) => {
            const all = pages.flatMap((page) => page.api_keys);
            const revoked = all.filter(({ revoked_at }) => revoked_at !== null);
            const shown = showsRevoked ? all : all.filter(({ revoked_at }) => revoked_at === null);
            return (
              <>
                {shown.length === 0 ? (
                  <Empty title="There are no API keys.">
                    Create one for each program, with the role that it needs. It is shown once, when it is created.
                  </Empty>
                ) : (
                  <KeyTable keys={shown} onAction={(kind, apiKey) => setAction({ kind, apiKey })} />
                )}
                {revoked.length > 0 && (
                  <Checkbox
                    mt="sm"
                    label={`Show those that were revoked (${revoked.length})`}
                    checked={showsRevoked}
                    onChange={({ currentTarget }) => setShowsRevoked(currentTarget.checked)}
                  />
                )}
              </>
            );
          }}
        </Loaded>
        <MoreButton query={keys} />
      </section>
      <section aria-labelledby="examples">
        <Title order={2} id="examples" mb="xs">
          Try it
        </Title>
        <CurlLines />
      </section>
      <CreateKeyDialog isOpen={action?.kind === "create"} onClose={onClose} />
      {action?.kind === "change" && <ChangeKeyDialog apiKey={action.apiKey} onClose={onClose} />}
      {action?.kind === "revoke" && <RevokeDialog apiKey={action.apiKey} onClose={onClose} />}
    </Stack>
  );
}
