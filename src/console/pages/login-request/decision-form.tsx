import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { useSession } from "../../api/session.ts";
import type { LoginDecision, LoginRequest, Role } from "../../api/types.ts";
import { ExpirySelect, type Expiry, expiryTime } from "../../parts/expiry-select.tsx";
import { Form } from "../../parts/form.tsx";
import { Note } from "../../parts/note.tsx";
import { RoleSelect } from "../../parts/role-select.tsx";

interface Props {
  readonly request: LoginRequest;
  readonly queryKey: readonly string[];
}

/** Asks which role the key gets, and until when. */
export function DecisionForm({ request, queryKey }: Props): ReactNode {
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
