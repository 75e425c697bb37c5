import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Form, PendingButton } from "../../parts/form.tsx";
import { NewPasswordField, PasswordField } from "../../parts/password-field.tsx";
import { Note } from "../../parts/note.tsx";
import { Stack, Text, Title } from "@mantine/core";
import { useSession } from "../../api/session.ts";
import { useSignOut } from "../../session/use-sign-out.ts";
import { Age } from "../../parts/age.tsx";
import { Facts } from "../../parts/facts.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { SafeText } from "../../parts/safe-text.tsx";

const EMPTY = { current: "", next: "" };

export function PasswordForm(): ReactNode {
  const [fields, setFields] = useState(EMPTY);
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: () =>
      call("PUT /v1/session/password", { body: { current_password: fields.current, password: fields.next } }),
    onSuccess: async () => {
      setFields(EMPTY);
      await client.invalidateQueries({ queryKey: KEYS.session });
    },
  });
  return (
    <Form
      action="Change the password"
      onSubmit={() => change.mutate()}
      isPending={change.isPending}
      error={change.error}
    >
      <PasswordField
        label="Password now"
        autoComplete="current-password"
        value={fields.current}
        onChange={(current) => setFields({ ...fields, current })}
      />
      <NewPasswordField label="New password" value={fields.next} onChange={(next) => setFields({ ...fields, next })} />
      {change.isSuccess && fields === EMPTY && (
        <Note
          kind="good"
          title="The password was changed. Your other sessions have ended, and the API keys that fall with you are revoked."
        />
      )}
    </Form>
  );
}

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
