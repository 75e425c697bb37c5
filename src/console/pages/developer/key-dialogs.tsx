import { Button, Checkbox, Group, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { ApiKey, Role } from "../../../protocol/api-types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Confirm, Dialog } from "../../parts/dialog.tsx";
import { formatDate } from "../../parts/durations.ts";
import { Form } from "../../parts/form.tsx";
import { type Expiry, ExpirySelect, expiryTime } from "../../parts/expiry-select.tsx";
import { CopyOnce } from "../../parts/copy-once.tsx";
import { RoleSelect } from "../../parts/role-select.tsx";
import { Age } from "../../parts/age.tsx";

interface ChangeKeyDialogProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}

/** Changes the name and the expiry. Another role needs another key. */
export function ChangeKeyDialog({ apiKey, onClose }: ChangeKeyDialogProps): ReactNode {
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

interface CreateKeyDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

type RemoteAccess = "apps.forward" | "apps.exec";

/** Creates a key and shows it once. While it is shown, the dialog is closed by its button only. */
export function CreateKeyDialog({ isOpen, onClose }: CreateKeyDialogProps): ReactNode {
  const [isShowing, setShowing] = useState(false);
  const close = (): void => {
    setShowing(false);
    onClose();
  };
  return (
    <Dialog isOpen={isOpen} onClose={close} label="Create an API key" canDismiss={!isShowing}>
      <CreateKey onCreated={() => setShowing(true)} onClose={close} />
    </Dialog>
  );
}

interface CreateProps {
  readonly onCreated: () => void;
  readonly onClose: () => void;
}

function CreateKey({ onCreated, onClose }: CreateProps): ReactNode {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("operator");
  const [expiry, setExpiry] = useState<Expiry>("90");
  const [isOfAccount, setOfAccount] = useState(false);
  const [permissions, setPermissions] = useState<readonly RemoteAccess[]>([]);
  const client = useQueryClient();
  const create = useMutation({
    mutationFn: () => {
      const expires_at = expiryTime(expiry);
      const belongs_to = isOfAccount ? ("account" as const) : ("person" as const);
      const fields = { name, role, permissions: [...permissions], belongs_to };
      return call("POST /v1/api-keys", { body: { ...fields, ...(expires_at !== undefined && { expires_at }) } });
    },
    // The key must not stay in memory once the dialog is closed.
    gcTime: 0,
    onSuccess: async () => {
      onCreated();
      await client.invalidateQueries({ queryKey: KEYS.apiKeys });
    },
  });
  if (create.data)
    return (
      <Stack>
        <CopyOnce label={`API key ${create.data.key.name}`} value={create.data.api_key} />
        <Group justify="end">
          <Button onClick={onClose}>I have stored it</Button>
        </Group>
      </Stack>
    );
  const toggle = (permission: RemoteAccess, isGiven: boolean): void =>
    setPermissions(isGiven ? [...permissions, permission] : permissions.filter((other) => other !== permission));
  return (
    <Form action="Create" onSubmit={() => create.mutate()} isPending={create.isPending} error={create.error}>
      <TextInput
        label="What it is for"
        description="Such as: deployments by CI."
        required
        withAsterisk={false}
        autoComplete="off"
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <RoleSelect value={role} onChange={setRole} />
      <ExpirySelect value={expiry} onChange={(value) => value !== "keep" && setExpiry(value)} />
      <Checkbox
        label="It belongs to the account"
        description="It stays when you get another password or role, or leave: for CI and other programs. Otherwise it is revoked then."
        checked={isOfAccount}
        onChange={({ currentTarget }) => setOfAccount(currentTarget.checked)}
      />
      <Checkbox.Group label="Access to apps themselves" description="No role includes it.">
        <Stack gap={6} mt={6}>
          <Checkbox
            label="apps.forward: connect to the ports of apps"
            onChange={({ currentTarget }) => toggle("apps.forward", currentTarget.checked)}
          />
          <Checkbox
            label="apps.exec: run commands in apps"
            onChange={({ currentTarget }) => toggle("apps.exec", currentTarget.checked)}
          />
        </Stack>
      </Checkbox.Group>
    </Form>
  );
}

interface RevokeDialogProps {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}

export function RevokeDialog({ apiKey, onClose }: RevokeDialogProps): ReactNode {
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => call("DELETE /v1/api-keys/{key_id}", { path: { key_id: apiKey.id } }),
    onSuccess: async () => {
      onClose();
      await client.invalidateQueries({ queryKey: KEYS.apiKeys });
    },
  });
  return (
    <Confirm
      isOpen
      title={`Revoke ${apiKey.name}?`}
      action="Revoke"
      isPending={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate()}
      onClose={onClose}
    >
      Requests with it are refused from now on, and streams that it opened end. It was last used:{" "}
      <Age at={apiKey.last_used_at} />. This cannot be taken back.
    </Confirm>
  );
}
