import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Confirm } from "../../parts/confirm.tsx";
import type { UserDialogProps } from "./user-dialogs.tsx";

export function RemoveDialog({ user, onClose }: UserDialogProps): ReactNode {
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => call("DELETE /v1/users/{user_id}", { path: { user_id: user.id } }),
    onSuccess: async () => {
      onClose();
      await client.invalidateQueries({ queryKey: KEYS.users });
    },
  });
  return (
    <Confirm
      isOpen
      title={`Remove ${user.name}?`}
      action="Remove"
      isPending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      {user.email} is signed out at once and cannot sign in any more. API keys that fall with the person are revoked;
      those of the account stay. What the person did stays in the audit log.
    </Confirm>
  );
}
