import { Button, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { useSession } from "../../api/session.ts";
import type { LoginDecision, LoginRequest, Role } from "../../../protocol/api-types.ts";
import { type Expiry, ExpirySelect, expiryTime } from "../../parts/expiry-select.tsx";
import { Form } from "../../parts/form.tsx";
import { Note } from "../../parts/note.tsx";
import { RoleSelect } from "../../parts/role-select.tsx";
import { toFailure } from "../../api/failure.ts";
import { Age } from "../../parts/age.tsx";
import { Facts } from "../../parts/facts.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Loading } from "../../parts/loaded.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { forgetLinkCode, linkCode } from "../../session/link-code.ts";
import { PageTitle } from "../../parts/page-title.tsx";

interface DecisionFormProps {
  readonly request: LoginRequest;
  readonly queryKey: readonly string[];
}

/** Asks which role the key gets, and until when. */
export function DecisionForm({ request, queryKey }: DecisionFormProps): ReactNode {
  const { user_code, roles } = request;
  const isAdmin = useSession().role === "admin";
  const [role, setRole] = useState<Role>(roles.includes("operator") ? "operator" : (roles.at(-1) ?? "viewer"));
  const [expiry, setExpiry] = useState<Expiry>("90");
  const client = useQueryClient();
  const decide = useMutation({
    mutationFn: (body: LoginDecision) => call("POST /v1/device-logins/{user_code}", { path: { user_code }, body }),
    onSuccess: (decided) => client.setQueryData(queryKey, decided),
  });
  const approve = (): void => decide.mutate({ decision: "approve", role, expires_at: expiryTime(expiry) ?? null });
  return (
    <Form
      action="Log it in"
      onSubmit={approve}
      isPending={decide.isPending}
      error={decide.error}
      actions={
        <Button variant="default" disabled={decide.isPending} onClick={() => decide.mutate({ decision: "deny" })}>
          Deny
        </Button>
      }
    >
      <Note kind="warn" title="Did you start this yourself, and is the code the same?" isAnnounced={false}>
        The program acts for the account with the role below. Its name and what it says of itself are not verified.
      </Note>
      <RoleSelect label="Role of its key" roles={roles} value={role} onChange={setRole} />
      <ExpirySelect value={expiry} onChange={(value) => value !== "keep" && setExpiry(value)} canBeNever={isAdmin} />
    </Form>
  );
}

interface LoginRequestViewProps {
  readonly code: string;
  /** Asks for another code. */
  readonly onOther: () => void;
}

export function LoginRequestView({ code, onOther }: LoginRequestViewProps): ReactNode {
  const path = { user_code: code };
  const queryKey = ["login-request", code];
  const { data, error } = useQuery({
    queryKey,
    queryFn: ({ signal }) => call("GET /v1/device-logins/{user_code}", { path, signal }),
  });
  if (data === undefined) {
    if (!error) return <Loading />;
    return (
      <Stack gap="md">
        <FailureNote failure={toFailure(error)} />
        <Button variant="default" onClick={onOther} style={{ alignSelf: "start" }}>
          Type another code
        </Button>
      </Stack>
    );
  }
  return (
    <Stack gap="md">
      <Request request={data} />
      <Outcome request={data} queryKey={queryKey} />
    </Stack>
  );
}

function Request({ request }: { readonly request: LoginRequest }): ReactNode {
  const { user_code, client_name, source, created_at, expires_at } = request;
  return (
    <Facts
      facts={[
        ["Code", <strong key="code">{user_code}</strong>],
        ["Program", <SafeText key="client" text={client_name} max={200} />],
        ["From address", source ?? "unknown"],
        ["Asked", <Age key="asked" at={created_at} />],
        ["Expires", <Age key="expires" at={expires_at} />],
      ]}
    />
  );
}

function Outcome({
  request,
  queryKey,
}: {
  readonly request: LoginRequest;
  readonly queryKey: readonly string[];
}): ReactNode {
  if (request.state === "approved")
    return (
      <Note kind="good" title="The program is logged in.">
        Go back to it. Its key is among the API keys of the account, and falls with your user.
      </Note>
    );
  if (request.state === "denied") return <Note kind="warn" title="The log-in was denied. The program gets no key." />;
  return <DecisionForm request={request} queryKey={queryKey} />;
}

/** Confirms that a program, such as edgectl, gets an API key. */
export function LoginRequestPage(): ReactNode {
  const [code, setCode] = useState(linkCode);
  const [typed, setTyped] = useState("");
  return (
    <div style={{ maxWidth: "36rem" }}>
      <PageTitle title="Log-in of a program" />
      {code === undefined ? (
        <Form action="Go on" onSubmit={() => setCode(typed.trim())} isPending={false} error={undefined}>
          <Text size="sm">
            A program that wants to log in, such as edgectl, shows a code of eight letters and digits.
          </Text>
          <TextInput
            label="Code"
            required
            withAsterisk={false}
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
            value={typed}
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </Form>
      ) : (
        <LoginRequestView
          code={code}
          onOther={() => {
            forgetLinkCode();
            setCode(undefined);
          }}
        />
      )}
    </div>
  );
}
