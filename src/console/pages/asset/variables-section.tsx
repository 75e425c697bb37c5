import { Checkbox, Text, TextInput, Title } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import type { VariablesUpdate } from "../../api/types.ts";
import { Form } from "../../parts/form.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { PendingButton } from "../../parts/pending-button.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { Table } from "../../parts/table.tsx";
import { useVariables } from "./asset-queries.ts";

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
        <SetVariable isPending={change.isPending} error={change.error} onSet={(body) => change.mutateAsync(body)} />
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
