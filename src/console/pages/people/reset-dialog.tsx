import { Button, Group, Stack, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "../../api/client.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { OneTimeLink } from "./one-time-link.tsx";
import type { UserDialogProps } from "./user-dialogs.tsx";

export function ResetDialog({ user, onClose }: UserDialogProps): ReactNode {
  const reset = useMutation({
    mutationFn: () => call("POST /v1/users/{user_id}/reset", { path: { user_id: user.id } }),
    // The link is shown once: nothing keeps it after the dialog.
    gcTime: 0,
  });
  const isInvited = user.state === "invited";
  return (
    <Dialog
      isOpen
      onClose={onClose}
      label={isInvited ? `New invitation of ${user.name}` : `Reset the password of ${user.name}`}
    >
      {reset.data ? (
        <Stack>
          <OneTimeLink label={`Link for ${user.email}`} {...reset.data.reset} />
          <Group justify="end">
            <Button onClick={onClose}>Done</Button>
          </Group>
        </Stack>
      ) : (
        <Form action="Make a link" onSubmit={() => reset.mutate()} isPending={reset.isPending} error={reset.error}>
          <Text size="sm">
            {isInvited
              ? "Makes a new link. The one before can no longer be used."
              : "Makes a link that sets a new password. The old password works until the link is used; the sessions end then."}
          </Text>
        </Form>
      )}
    </Dialog>
  );
}
