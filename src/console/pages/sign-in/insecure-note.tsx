import { Code } from "@mantine/core";
import type { ReactNode } from "react";
import { Note } from "../../parts/note.tsx";

/** Shown where the session's cookie would not come back. */
export function InsecureNote(): ReactNode {
  return (
    <Note kind="warn" title="You cannot be signed in over this connection.">
      Browsers keep the session only over HTTPS, or on the machine itself. Open the console by <Code>https://</Code>, or
      through a tunnel to the server: <Code>ssh -L 8080:127.0.0.1:8080 {location.hostname}</Code>
    </Note>
  );
}
