import { Stack, Text, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { useAfterSignIn } from "../../session/after-sign-in.ts";
import { forgetLinkCode, linkCode } from "../../session/link-code.ts";
import { Empty } from "../../parts/empty.tsx";
import { Form } from "../../parts/form.tsx";
import { NewPasswordField } from "../../parts/password-field.tsx";
import { PageTitle } from "../../parts/page-title.tsx";

/** Sets the password of a person who was invited, or whose password is reset. */
export function InvitationPage(): ReactNode {
  const [code] = useState(linkCode);
  return (
    <Stack gap="md">
      <PageTitle title="Choose a password" />
      {code === undefined ? (
        <Empty title="This link has no code.">
          Open the link as it was given to you; a code that was used before has gone from the page's address. An admin
          of the account can make a new link.
        </Empty>
      ) : (
        <Accept code={code} />
      )}
    </Stack>
  );
}

function Accept({ code }: { readonly code: string }): ReactNode {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const afterSignIn = useAfterSignIn();
  const accept = useMutation({
    mutationFn: () => call("POST /v1/invitations", { body: { code, password, ...(name && { name }) } }),
    onSuccess: async () => {
      forgetLinkCode();
      await afterSignIn("/overview");
    },
  });
  return (
    <>
      <Text size="sm">The link can be used once. You are signed in afterwards.</Text>
      <Form
        action="Set the password"
        onSubmit={() => accept.mutate()}
        isPending={accept.isPending}
        error={accept.error}
      >
        <TextInput
          label="Your name"
          description="Stays as it is if it is empty."
          autoComplete="name"
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <NewPasswordField value={password} onChange={setPassword} />
      </Form>
    </>
  );
}
