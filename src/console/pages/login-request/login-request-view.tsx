import { Button, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import type { LoginRequest } from "../../api/types.ts";
import { Age } from "../../parts/age.tsx";
import { Facts } from "../../parts/facts.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Note } from "../../parts/note.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { DecisionForm } from "./decision-form.tsx";

interface Props {
  readonly code: string;
  /** Asks for another code. */
  readonly onOther: () => void;
}

export function LoginRequestView({ code, onOther }: Props): ReactNode {
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
