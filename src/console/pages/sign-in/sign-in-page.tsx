import { type ReactNode, useState } from "react";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Anchor, Button, Divider, Stack, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { nextPath, useAfterSignIn } from "../../session/after-sign-in.ts";
import { Form } from "../../parts/form.tsx";
import { Note } from "../../parts/note.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { PasswordField } from "../../parts/password-field.tsx";
import { InsecureNote } from "./insecure-note.tsx";

/** A code of the error table, or a reason: one word. Links of others could bring any text. */
const WORD = /^\w{1,40}$/;

/** Why the sign-in provider sent the person back without a session, as the page's address says. */
export function ProviderFailure({ parameters }: { readonly parameters: URLSearchParams }): ReactNode {
  const code = parameters.get("failure") ?? "";
  const reason = parameters.get("reason") ?? "";
  if (!WORD.test(code)) return null;
  const details = WORD.test(reason) ? { reason } : undefined;
  return <FailureNote failure={{ code, message: "You are not signed in with the provider.", details }} />;
}

export function SignInPage(): ReactNode {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [parameters] = useSearchParams();
  const afterSignIn = useAfterSignIn();
  const options = useQuery({ queryKey: KEYS.signIn, queryFn: ({ signal }) => call("GET /v1/sign-in", { signal }) });
  const signIn = useMutation({
    mutationFn: () => call("POST /v1/session", { body: { email, password } }),
    onSuccess: () => afterSignIn(nextPath(parameters)),
  });
  const oidc = options.data?.oidc;
  return (
    <Stack gap="md">
      <PageTitle title="Sign in" />
      <ProviderFailure parameters={parameters} />
      {options.data?.secure === false && <InsecureNote />}
      {options.data?.set_up === true && (
        <Note kind="info" title="There is no user yet.">
          <Anchor component={Link} to="/setup" inherit underline="always">
            Set up the service
          </Anchor>{" "}
          with the code that edge-control prints when it starts.
        </Note>
      )}
      <Form action="Sign in" onSubmit={() => signIn.mutate()} isPending={signIn.isPending} error={signIn.error}>
        <TextInput
          label="Email address"
          type="email"
          name="email"
          autoComplete="username"
          required
          withAsterisk={false}
          value={email}
          onChange={({ currentTarget }) => setEmail(currentTarget.value)}
        />
        <PasswordField label="Password" autoComplete="current-password" value={password} onChange={setPassword} />
      </Form>
      {oidc && (
        <>
          <Divider label="or" />
          <Button
            component="a"
            href={`/v1/oidc/start?next=${encodeURIComponent(nextPath(parameters))}`}
            variant="default"
          >
            Sign in with {oidc.name}
          </Button>
        </>
      )}
    </Stack>
  );
}
