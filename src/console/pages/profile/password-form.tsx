import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Form } from "../../parts/form.tsx";
import { NewPasswordField } from "../../parts/new-password-field.tsx";
import { Note } from "../../parts/note.tsx";
import { PasswordField } from "../../parts/password-field.tsx";

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
