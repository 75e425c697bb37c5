import { Checkbox, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { useSession } from "../../api/session.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { RoleSelect } from "../../parts/role-select.tsx";
import type { UserDialogProps } from "./user-dialogs.tsx";

export function ChangeDialog({ user, onClose }: UserDialogProps): ReactNode {
  const { principal } = useSession();
  const [name, setName] = useState(user.name);
  const [role, setRole] = useState(user.role);
  const [isDisabled, setDisabled] = useState(user.state === "disabled");
  const client = useQueryClient();
  const body = {
    ...(name !== user.name && { name }),
    ...(role !== user.role && { role }),
    ...(isDisabled !== (user.state === "disabled") && { disabled: isDisabled }),
  };
  const change = useMutation({
    mutationFn: () => call("PATCH /v1/users/{user_id}", { path: { user_id: user.id }, body }),
    onSuccess: async () => {
      onClose();
      await Promise.all([KEYS.users, KEYS.session].map((queryKey) => client.invalidateQueries({ queryKey })));
    },
  });
  return (
    <Dialog isOpen onClose={onClose} label={`Change ${user.name}`}>
      <Form
        action="Change"
        onSubmit={() => change.mutate()}
        isPending={change.isPending}
        error={change.error}
        canSubmit={Object.keys(body).length > 0}
      >
        <TextInput
          label="Name"
          required
          withAsterisk={false}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <RoleSelect value={role} onChange={setRole} />
        <Checkbox
          label="Keep from signing in"
          description="Ends the sessions at once. The person stays in the list and can be let in again."
          checked={isDisabled}
          disabled={user.id === principal.id}
          onChange={({ currentTarget }) => setDisabled(currentTarget.checked)}
        />
      </Form>
    </Dialog>
  );
}
