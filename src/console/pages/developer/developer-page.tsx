import { Anchor, Button, Checkbox, Stack, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { ApiKey } from "../../api/types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Empty } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { ChangeKeyDialog } from "./change-key-dialog.tsx";
import { CreateKeyDialog } from "./create-key-dialog.tsx";
import { CurlLines } from "./curl-lines.tsx";
import { KeyTable } from "./key-table.tsx";
import { RevokeDialog } from "./revoke-dialog.tsx";

type Action = { readonly kind: "create" } | { readonly kind: "change" | "revoke"; readonly apiKey: ApiKey };

/** API keys of the account, and how to use them. */
export function DeveloperPage(): ReactNode {
  const [action, setAction] = useState<Action>();
  const [showsRevoked, setShowsRevoked] = useState(false);
  const keys = useInfiniteQuery({
    queryKey: KEYS.apiKeys,
    queryFn: ({ signal, pageParam }) => call("GET /v1/api-keys", { signal, query: { cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  const create = (
    <Button leftSection={<Icon name="enrol" size={16} />} onClick={() => setAction({ kind: "create" })}>
      Create an API key
    </Button>
  );
  const onClose = (): void => setAction(undefined);
  return (
    <Stack gap="xl">
      <section aria-label="API keys">
        <PageTitle title="Developer" actions={create} />
        <Text size="sm" mb="sm">
          A program acts for the account with an API key. Everything this console does can be done with the API:{" "}
          <Anchor href="/docs" underline="always" inherit>
            reference of the API
          </Anchor>
          .
        </Text>
        <Loaded query={keys}>
          {({ pages }) => {
            const all = pages.flatMap((page) => page.api_keys);
            const revoked = all.filter(({ revoked_at }) => revoked_at !== null);
            const shown = showsRevoked ? all : all.filter(({ revoked_at }) => revoked_at === null);
            return (
              <>
                {shown.length === 0 ? (
                  <Empty title="There are no API keys.">
                    Create one for each program, with the role that it needs. It is shown once, when it is created.
                  </Empty>
                ) : (
                  <KeyTable keys={shown} onAction={(kind, apiKey) => setAction({ kind, apiKey })} />
                )}
                {revoked.length > 0 && (
                  <Checkbox
                    mt="sm"
                    label={`Show those that were revoked (${revoked.length})`}
                    checked={showsRevoked}
                    onChange={({ currentTarget }) => setShowsRevoked(currentTarget.checked)}
                  />
                )}
              </>
            );
          }}
        </Loaded>
        <MoreButton query={keys} />
      </section>
      <section aria-labelledby="examples">
        <Title order={2} id="examples" mb="xs">
          Try it
        </Title>
        <CurlLines />
      </section>
      <CreateKeyDialog isOpen={action?.kind === "create"} onClose={onClose} />
      {action?.kind === "change" && <ChangeKeyDialog apiKey={action.apiKey} onClose={onClose} />}
      {action?.kind === "revoke" && <RevokeDialog apiKey={action.apiKey} onClose={onClose} />}
    </Stack>
  );
}
