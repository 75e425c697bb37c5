import { Code } from "@mantine/core";
import type { ReactNode } from "react";
import { useSession } from "../api/session.ts";
import { Note } from "./note.tsx";

/** Says which permission is missing, and who can give it. */
export function Forbidden({ permission }: { readonly permission: string }): ReactNode {
  const { role } = useSession();
  return (
    <Note kind="warn" title="Your role does not permit this.">
      Your role is {role}; this needs the permission <Code>{permission}</Code>. An admin of the account can change your
      role under People.
    </Note>
  );
}
