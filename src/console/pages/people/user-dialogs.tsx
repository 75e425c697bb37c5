import { type ReactNode, useState } from "react";
import { Age } from "../../parts/age.tsx";
import { CopyOnce } from "../../parts/copy-once.tsx";
import { Button, Checkbox, Group, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Role, User } from "../../../protocol/api-types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Confirm, Dialog } from "../../parts/dialog.tsx";
import { Form } from "../../parts/form.tsx";
import { Note } from "../../parts/note.tsx";
import { RoleSelect } from "../../parts/role-select.tsx";
import { useSession } from "../../api/session.ts";

interface OneTimeLinkProps {
  readonly label: string;
  readonly link: string;
  readonly expires_at: number;
}

/** A link that sets a password. */
function OneTimeLink({ label, link, expires_at }: OneTimeLinkProps): ReactNode {
  const note = (
    <>
      Pass it on in a way that only this person reads. It is shown only now, can be used once, and expires{" "}
      <Age at={expires_at} />.
    </>
  );
  return <CopyOnce label={label} value={link} note={note} />;
}

interface InviteDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function InviteDialog({ isOpen, onClose }: InviteDialogProps): ReactNode {
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

function ChangeDialog({ user, onClose }: UserDialogProps): ReactNode {
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

function RemoveDialog({ user, onClose }: UserDialogProps): ReactNode {
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

function ResetDialog({ user, onClose }: UserDialogProps): ReactNode {
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

/** What is being done with a person. */
export interface UserAction {
  readonly kind: "change" | "reset" | "remove";
  readonly user: User;
}

interface UserDialogProps {
  readonly user: User;
  readonly onClose: () => void;
}

const DIALOGS: Readonly<Record<UserAction["kind"], (props: UserDialogProps) => ReactNode>> = {
  change: ChangeDialog,
  reset: ResetDialog,
  remove: RemoveDialog,
};

interface UserDialogsProps {
  readonly action: UserAction | undefined;
  readonly onClose: () => void;
}

export function UserDialogs({ action, onClose }: UserDialogsProps): ReactNode {
  if (!action) return null;
  const Open = DIALOGS[action.kind];
  return <Open key={`${action.kind} ${action.user.id}`} user={action.user} onClose={onClose} />;
}
