import { Code, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { nextPath, useAfterSignIn } from "../../session/after-sign-in.ts";
import { forgetLinkCode, linkCode, linkTarget } from "../../session/link-code.ts";
import { Form } from "../../parts/form.tsx";
import { NewPasswordField } from "../../parts/password-field.tsx";
import { Note } from "../../parts/note.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { InsecureNote } from "../sign-in/insecure-note.tsx";

/** Makes the first account and its first admin, with the code that the server printed. */
export function SetUpPage(): ReactNode {
  const [given] = useState(linkCode);
  const [fields, setFields] = useState({ code: given ?? "", accountName: "", name: "", email: "", password: "" });
  const set = (change: Partial<typeof fields>): void => setFields({ ...fields, ...change });
  const afterSignIn = useAfterSignIn();
  const options = useQuery({ queryKey: KEYS.signIn, queryFn: ({ signal }) => call("GET /v1/sign-in", { signal }) });
  const setUp = useMutation({
    mutationFn: () => {
      const { code, accountName, name, email, password } = fields;
      const optional = { ...(accountName && { account_name: accountName }), ...(name && { name }) };
      return call("POST /v1/setup", { body: { code: code.trim(), email, password, ...optional } });
    },
    onSuccess: async () => {
      forgetLinkCode();
      await afterSignIn(nextPath(linkTarget()));
    },
  });
  return (
    <Stack gap="md">
      <PageTitle title="Set up" />
      <Text size="sm">This makes the account and its first admin: you.</Text>
      {options.data?.secure === false && <InsecureNote />}
      <Form action="Set up" onSubmit={() => setUp.mutate()} isPending={setUp.isPending} error={setUp.error}>
        {given === undefined ? (
          <TextInput
            label="Set-up code"
            description={
              <>
                The server prints it when it starts, and with <Code>edge-control setup-code</Code>. It can be used once.
              </>
            }
            required
            withAsterisk={false}
            autoComplete="off"
            spellCheck={false}
            value={fields.code}
            onChange={({ currentTarget }) => set({ code: currentTarget.value })}
          />
        ) : (
          <Note kind="good" title="The set-up code was taken from the link." isAnnounced={false} />
        )}
        <TextInput
          label="Name of the account"
          description="Such as your company's. Leave it empty if the code is of an account that exists."
          autoComplete="organization"
          value={fields.accountName}
          onChange={({ currentTarget }) => set({ accountName: currentTarget.value })}
        />
        <TextInput
          label="Your name"
          autoComplete="name"
          value={fields.name}
          onChange={({ currentTarget }) => set({ name: currentTarget.value })}
        />
        <TextInput
          label="Your email address"
          description="You sign in with it. Nothing is sent to it."
          type="email"
          required
          withAsterisk={false}
          autoComplete="username"
          value={fields.email}
          onChange={({ currentTarget }) => set({ email: currentTarget.value })}
        />
        <NewPasswordField value={fields.password} onChange={(password) => set({ password })} />
      </Form>
    </Stack>
  );
}
