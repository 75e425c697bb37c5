import { Box, Checkbox, Code, Group, Stack, Text, TextInput, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import { Form, PendingButton } from "../../parts/form.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { type TabProps, useHold, useVariables } from "./asset-queries.ts";
import type { Tags, TagsUpdate, VariablesUpdate } from "../../../protocol/api-types.ts";
import { SafeText } from "../../parts/safe-text.tsx";
import { parseTag } from "./parse-tag.ts";
import { Table } from "../../parts/table.tsx";

/** Holds an asset, with a reason and until when, or releases it. */
export function HoldSection({ assetId }: { readonly assetId: string }): ReactNode {
  const mayHold = usePermission("assets.hold");
  const hold = useHold(assetId);
  return (
    <section aria-labelledby="hold">
      <Title order={2} id="hold" mb="xs">
        Hold
      </Title>
      <Loaded query={hold}>
        {(held) => (
          <>
            <Text size="sm" mb="xs">
              {held ? "It is held; see above." : "It is not held: rollouts reach it."}
            </Text>
            {mayHold && (held ? <Release assetId={assetId} /> : <Hold assetId={assetId} />)}
          </>
        )}
      </Loaded>
    </section>
  );
}

function Hold({ assetId }: { readonly assetId: string }): ReactNode {
  const [reason, setReason] = useState("");
  const [until, setUntil] = useState("");
  const client = useQueryClient();
  const hold = useMutation({
    mutationFn: () =>
      call("PUT /v1/assets/{asset_id}/hold", {
        path: { asset_id: assetId },
        body: { reason, ...(until !== "" && { until: Math.floor(new Date(until).getTime() / 1000) }) },
      }),
    onSuccess: () => client.invalidateQueries({ queryKey: KEYS.asset(assetId) }),
  });
  return (
    <Form
      action="Hold"
      isPending={hold.isPending}
      error={hold.error}
      canSubmit={reason.trim() !== ""}
      onSubmit={() => hold.mutate()}
    >
      <TextInput
        label="Reason"
        placeholder="Pump test until Thursday"
        maxLength={256}
        value={reason}
        onChange={({ currentTarget }) => setReason(currentTarget.value)}
      />
      <TextInput
        type="datetime-local"
        label="Until"
        description="In this browser's time zone. Without it, until it is released."
        value={until}
        onChange={({ currentTarget }) => setUntil(currentTarget.value)}
      />
    </Form>
  );
}

function Release({ assetId }: { readonly assetId: string }): ReactNode {
  const client = useQueryClient();
  const release = useMutation({
    mutationFn: () => call("DELETE /v1/assets/{asset_id}/hold", { path: { asset_id: assetId } }),
    onSuccess: () => client.invalidateQueries({ queryKey: KEYS.asset(assetId) }),
  });
  return (
    <Form action="Release" isPending={release.isPending} error={release.error} onSubmit={() => release.mutate()}>
      <Text size="sm">Released, it gets what its fleets have brought to the others meanwhile.</Text>
    </Form>
  );
}

interface Props {
  readonly assetId: string;
  readonly tags: Tags;
}

/** The tags of an asset, each with a button that removes it, and a field that adds one. */
export function TagsSection({ assetId, tags }: Props): ReactNode {
  const mayTag = usePermission("assets.tag");
  const [text, setText] = useState("");
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (body: TagsUpdate) => call("PATCH /v1/assets/{asset_id}/tags", { path: { asset_id: assetId }, body }),
    onSuccess: (_tags, body) => {
      if (!Object.values(body).includes(null)) setText("");
      return client.invalidateQueries({ queryKey: KEYS.asset(assetId) });
    },
  });
  const entries = Object.entries(tags);
  return (
    <section aria-labelledby="tags">
      <Title order={2} id="tags" mb="xs">
        Tags
      </Title>
      {entries.length === 0 && <Text size="sm">It has no tags. Fleets choose their assets by tags.</Text>}
      <Group gap="xs" mb="sm">
        {entries.map(([key, value]) => (
          <Group key={key} gap={4} wrap="nowrap">
            <Code>
              <SafeText text={value === "" ? key : `${key}=${value}`} max={400} />
            </Code>
            {mayTag && (
              <PendingButton
                size="compact-xs"
                variant="default"
                loading={change.isPending && change.variables[key] === null}
                onClick={() => change.mutate({ [key]: null })}
              >
                Remove<span className="visually-hidden"> the tag {key}</span>
              </PendingButton>
            )}
          </Group>
        ))}
      </Group>
      {mayTag && (
        <Form
          action="Set the tag"
          isPending={change.isPending}
          error={change.error}
          canSubmit={text.trim() !== ""}
          onSubmit={() => change.mutate(parseTag(text))}
        >
          <TextInput
            label="Tag"
            description="A key, or key=value. One with the same key is replaced."
            placeholder="role=kiosk"
            value={text}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
          />
        </Form>
      )}
    </section>
  );
}

/** The variables of an asset. Values are not shown here; one is replaced by setting it again. */
export function VariablesSection({ assetId }: { readonly assetId: string }): ReactNode {
  const mayChange = usePermission("assets.variables");
  const variables = useVariables(assetId);
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (body: VariablesUpdate) =>
      call("PATCH /v1/assets/{asset_id}/variables", { path: { asset_id: assetId }, body }),
    onSuccess: () => client.invalidateQueries({ queryKey: KEYS.asset(assetId) }),
  });
  const removeButton = (name: string): ReactNode => (
    <PendingButton
      size="compact-xs"
      variant="default"
      loading={change.isPending && change.variables[name] === null}
      onClick={() => change.mutate({ [name]: null })}
    >
      Remove<span className="visually-hidden"> the variable {name}</span>
    </PendingButton>
  );
  return (
    <section aria-labelledby="variables">
      <Title order={2} id="variables" mb="xs">
        Variables
      </Title>
      <Loaded query={variables}>
        {(data) => {
          const rows = Object.entries(data);
          if (rows.length === 0) return <Text size="sm">It has no variables for apps of fleets.</Text>;
          const columns = [
            { header: "Name", renderCell: ([name]: Row) => <SafeText text={name} /> },
            { header: "Kind", renderCell: ([, { secret }]: Row) => (secret ? "secret" : "plain") },
            ...(mayChange
              ? [
                  {
                    header: "Actions",
                    hidesHeader: true,
                    isNarrow: true,
                    renderCell: ([name]: Row) => removeButton(name),
                  },
                ]
              : []),
          ];
          return <Table label="Variables" columns={columns} rows={rows} keyOf={([name]) => name} />;
        }}
      </Loaded>
      {mayChange && (
        <Box mt="sm">
          <SetVariable isPending={change.isPending} error={change.error} onSet={(body) => change.mutateAsync(body)} />
        </Box>
      )}
    </section>
  );
}

type Row = readonly [name: string, variable: { readonly secret: boolean }];

interface SetProps {
  readonly isPending: boolean;
  readonly error: unknown;
  readonly onSet: (body: VariablesUpdate) => Promise<unknown>;
}

function SetVariable({ isPending, error, onSet }: SetProps): ReactNode {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [isSecret, setSecret] = useState(true);
  const set = async (): Promise<void> => {
    await onSet({ [name]: { value, secret: isSecret } });
    setName("");
    setValue("");
  };
  return (
    <Form
      action="Set the variable"
      isPending={isPending}
      error={error}
      canSubmit={name !== ""}
      // The failure is shown in the form.
      onSubmit={() => void set().catch(() => undefined)}
    >
      <TextInput
        label="Name"
        placeholder="SITE_ID"
        description="One with the same name is replaced."
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value.trim())}
      />
      <TextInput
        label="Value"
        type={isSecret ? "password" : "text"}
        autoComplete="off"
        value={value}
        onChange={({ currentTarget }) => setValue(currentTarget.value)}
      />
      <Checkbox
        label="Secret: never shown again, and masked in what the app prints"
        checked={isSecret}
        onChange={({ currentTarget }) => setSecret(currentTarget.checked)}
      />
    </Form>
  );
}

/** What people set for an asset: its tags, its hold and its variables. */
export function SettingsTab({ asset }: TabProps): ReactNode {
  return (
    <Stack gap="lg">
      <TagsSection assetId={asset.uuid} tags={asset.tags} />
      <HoldSection assetId={asset.uuid} />
      <VariablesSection assetId={asset.uuid} />
    </Stack>
  );
}
