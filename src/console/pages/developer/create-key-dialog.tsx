import { Button, Checkbox, Group, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Role } from "../../api/types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { CopyOnce } from "../../parts/copy-once.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { RoleSelect } from "../../parts/role-select.tsx";
import { ExpirySelect, type Expiry, expiryTime } from "../../parts/expiry-select.tsx";

interface Props {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

type RemoteAccess = "apps.forward" | "apps.exec";

/** Creates a key and shows it once. While it is shown, the dialog is closed by its button only. */
export function CreateKeyDialog({ isOpen, onClose }: Props): ReactNode {
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
