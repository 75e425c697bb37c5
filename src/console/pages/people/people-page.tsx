import { Button, Group, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { User } from "../../../protocol/api-types.ts";
import { useSession } from "../../api/session.ts";
import { Age } from "../../parts/age.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { AgentUpdateSettings } from "./agent-settings.tsx";
import { InviteDialog, type UserAction, UserDialogs } from "./user-dialogs.tsx";
import { useInfiniteQuery } from "@tanstack/react-query";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Icon } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageTitle } from "../../parts/page-title.tsx";

interface Props {
  readonly users: readonly User[];
  readonly onAction: (action: UserAction) => void;
}

export function UserTable({ users, onAction }: Props): ReactNode {
  const { principal } = useSession();
  const columns: readonly Column<User>[] = [
    {
      header: "Name",
      renderCell: ({ id, name, email }) => (
        <>
          <Text size="sm" fw={600} component="div">
            <SafeText text={name} max={200} />
            {id === principal.id && " (you)"}
          </Text>
          {email !== name && <SafeText text={email} max={254} />}
        </>
      ),
    },
    { header: "Role", renderCell: ({ role }) => role, isNarrow: true },
    { header: "State", renderCell: (user) => <UserState user={user} />, isNarrow: true },
    {
      header: "Last sign-in",
      renderCell: ({ last_sign_in_at, sign_in }) => (
        <>
          <Age at={last_sign_in_at} />
          {sign_in === "oidc" && (
            <Text size="xs" c="dimmed">
              with the sign-in provider
            </Text>
          )}
        </>
      ),
      isNarrow: true,
    },
    {
      header: "Actions",
      hidesHeader: true,
      isNarrow: true,
      renderCell: (user) => (
        <Group gap={6} wrap="nowrap">
          <ActionButton label="Change" of={user} onClick={() => onAction({ kind: "change", user })} />
          {user.sign_in === "password" && (
            <ActionButton
              label={user.state === "invited" ? "New link" : "Reset password"}
              of={user}
              onClick={() => onAction({ kind: "reset", user })}
            />
          )}
          <ActionButton label="Remove" of={user} onClick={() => onAction({ kind: "remove", user })} />
        </Group>
      ),
    },
  ];
  return <Table label="People" columns={columns} rows={users} keyOf={({ id }) => id} />;
}

interface ActionProps {
  readonly label: string;
  readonly of: User;
  readonly onClick: () => void;
}

function ActionButton({ label, of, onClick }: ActionProps): ReactNode {
  return (
    <Button size="compact-xs" variant="default" aria-label={`${label}: ${of.name}`} onClick={onClick}>
      {label}
    </Button>
  );
}

function UserState({ user }: { readonly user: User }): ReactNode {
  if (user.state === "invited")
    return (
      <State kind="plain" icon="clock" title="Has not used the invitation yet.">
        invited
      </State>
    );
  if (user.state === "disabled")
    return (
      <State kind="warn" icon="pause" title="Cannot sign in.">
        disabled
      </State>
    );
  return (
    <State kind="good" icon="check">
      active
    </State>
  );
}

/** The people of the account: invitations, roles, resets of passwords. */
export function PeoplePage(): ReactNode {
  const [isInviting, setInviting] = useState(false);
  const [action, setAction] = useState<UserAction>();
  const users = useInfiniteQuery({
    queryKey: KEYS.users,
    queryFn: ({ signal, pageParam }) => call("GET /v1/users", { signal, query: { cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  return (
    <>
      <PageTitle
        title="People"
        actions={
          <Button leftSection={<Icon name="enrol" size={16} />} onClick={() => setInviting(true)}>
            Invite
          </Button>
        }
      />
      <Loaded query={users}>
        {({ pages }) => <UserTable users={pages.flatMap((page) => page.users)} onAction={setAction} />}
      </Loaded>
      <MoreButton query={users} />
      <AgentUpdateSettings />
      <InviteDialog isOpen={isInviting} onClose={() => setInviting(false)} />
      <UserDialogs action={action} onClose={() => setAction(undefined)} />
    </>
  );
}
