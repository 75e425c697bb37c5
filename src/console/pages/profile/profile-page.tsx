import { Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { useSession } from "../../api/session.ts";
import { useSignOut } from "../../session/use-sign-out.ts";
import { Age } from "../../parts/age.tsx";
import { Facts } from "../../parts/facts.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PendingButton } from "../../parts/pending-button.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { PasswordForm } from "./password-form.tsx";

/** Who is signed in, and how to change the password. */
export function ProfilePage(): ReactNode {
  const { principal, account, role, permissions, expires_at } = useSession();
  const signOut = useSignOut();
  return (
    <Stack gap="xl" maw="40rem">
      <section aria-label="Session">
        <PageTitle
          title="Your session"
          actions={
            <PendingButton variant="default" loading={signOut.isPending} onClick={() => signOut.mutate()}>
              Sign out
            </PendingButton>
          }
        />
        <Facts
          facts={[
            ["Name", <SafeText key="name" text={principal.name} max={200} />],
            ["Email address", principal.email ?? "none"],
            ["Account", <SafeText key="account" text={account.name} max={200} />],
            ["Account id", account.id],
            ["Role", role],
            ["Session ends", expires_at === null ? "never" : <Age key="end" at={expires_at} />],
          ]}
        />
        <details>
          <summary>What your role permits ({permissions.length})</summary>
          <Text size="sm" ff="monospace" mt="xs">
            {permissions.join(", ")}
          </Text>
        </details>
      </section>
      <section aria-labelledby="password">
        <Title order={2} id="password" mb="xs">
          Password
        </Title>
        <PasswordForm />
      </section>
    </Stack>
  );
}
