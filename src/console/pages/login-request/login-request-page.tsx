import { Text, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { forgetLinkCode, linkCode } from "../../session/link-code.ts";
import { Form } from "../../parts/form.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { LoginRequestView } from "./login-request-view.tsx";

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
