import { Button, Group, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Role } from "../../api/types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { Note } from "../../parts/note.tsx";
import { RoleSelect } from "../../parts/role-select.tsx";
import { OneTimeLink } from "./one-time-link.tsx";

interface Props {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function InviteDialog({ isOpen, onClose }: Props): ReactNode {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} label="Invite a person">
      <Invite onClose={onClose} />
    </Dialog>
  );
}

function Invite({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [email, setEmail] = useState("");
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const client = useQueryClient();
  const invite = useMutation({
    mutationFn: () => call("POST /v1/users", { body: { email, role, ...(name && { name }) } }),
    onSuccess: () => client.invalidateQueries({ queryKey: KEYS.users }),
    // The link is shown once: nothing keeps it after the dialog.
    gcTime: 0,
  });
  if (invite.data)
    return (
      <Stack>
        <OneTimeLink label={`Invitation of ${invite.data.user.email}`} {...invite.data.invitation} />
        {invite.data.role_decided_by !== null && (
          <Note kind="info" title={`${invite.data.role_decided_by} decides about roles.`}>
            A person who signs in with it has the role of its groups, in place of {role}.
          </Note>
        )}
        <Group justify="end">
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    );
  return (
    <Form action="Invite" onSubmit={() => invite.mutate()} isPending={invite.isPending} error={invite.error}>
      <TextInput
        label="Email address"
        description="The person signs in with it. Nothing is sent to it: you pass the link on."
        type="email"
        required
        withAsterisk={false}
        autoComplete="off"
        value={email}
        onChange={({ currentTarget }) => setEmail(currentTarget.value)}
      />
      <TextInput
        label="Name"
        description="The address if it is empty."
        autoComplete="off"
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <RoleSelect value={role} onChange={setRole} />
    </Form>
  );
}
