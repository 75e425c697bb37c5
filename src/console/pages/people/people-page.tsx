import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Icon } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { InviteDialog } from "./invite-dialog.tsx";
import { UserDialogs, type UserAction } from "./user-dialogs.tsx";
import { UserTable } from "./user-table.tsx";

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
      <InviteDialog isOpen={isInviting} onClose={() => setInviting(false)} />
      <UserDialogs action={action} onClose={() => setAction(undefined)} />
    </>
  );
}
