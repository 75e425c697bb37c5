import { TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { ApiKey } from "../../api/types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { formatDate } from "../../parts/durations.ts";
import { Form } from "../../parts/form.tsx";
import { ExpirySelect, type Expiry, expiryTime } from "../../parts/expiry-select.tsx";

interface Props {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}

/** Changes the name and the expiry. Another role needs another key. */
export function ChangeKeyDialog({ apiKey, onClose }: Props): ReactNode {
  const [name, setName] = useState(apiKey.name);
  const [expiry, setExpiry] = useState<Expiry | "keep">("keep");
  const client = useQueryClient();
  const hasChanged = name !== apiKey.name || expiry !== "keep";
  const change = useMutation({
    mutationFn: () => {
      const body = {
        ...(name !== apiKey.name && { name }),
        ...(expiry !== "keep" && { expires_at: expiryTime(expiry) ?? null }),
      };
      return call("PATCH /v1/api-keys/{key_id}", { path: { key_id: apiKey.id }, body });
    },
    onSuccess: async () => {
      onClose();
      await client.invalidateQueries({ queryKey: KEYS.apiKeys });
    },
  });
  return (
    <Dialog isOpen onClose={onClose} label={`Change ${apiKey.name}`}>
      <Form
        action="Change"
        onSubmit={() => change.mutate()}
        isPending={change.isPending}
        error={change.error}
        canSubmit={hasChanged}
      >
        <TextInput
          label="What it is for"
          required
          withAsterisk={false}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <ExpirySelect
          value={expiry}
          onChange={setExpiry}
          keepLabel={apiKey.expires_at === null ? "as it is: never" : `as it is: ${formatDate(apiKey.expires_at)}`}
        />
      </Form>
    </Dialog>
  );
}
