import type { ReactNode } from "react";
import { FailureNote } from "../../parts/failure-note.tsx";

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
