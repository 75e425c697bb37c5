import { Button, Code } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { ErrorEntry } from "../../protocol/errors/errors.ts";
import type { ApiFailure } from "../api/failure.ts";
import { formatDetails } from "./failure-details.ts";
import { Note } from "./note.tsx";
import { SafeText } from "./safe-text.tsx";

interface Props {
  readonly failure: Pick<ApiFailure, "code" | "message" | "details">;
  readonly onRetry?: () => void;
}

const OWN_HINTS: Readonly<Record<string, string>> = {
  Unreachable: "Check that edge-control runs and that this machine has a link to it. The page goes on by itself.",
  SimOperatorFailed:
    "The operator may be away, or refuse the service's credentials. What was changed before it failed is shown; repeat the rest.",
  BadResponse: "Something between this browser and edge-control may have responded in its place, such as a proxy.",
};

/** What failed, to what, and what to do, with the code that the documentation lists. */
export function FailureNote({ failure, onRetry }: Props): ReactNode {
  const { code, message, details } = failure;
  const hint = useHint(code);
  const facts = formatDetails(details);
  return (
    <Note kind="bad" title={<SafeText text={message} />}>
      {hint !== undefined && <div>{hint}</div>}
      {facts.length > 0 && (
        <ul style={{ margin: "0.25rem 0", paddingLeft: "1.25rem" }}>
          {facts.map((fact) => (
            <li key={fact}>
              <SafeText text={fact} max={500} />
            </li>
          ))}
        </ul>
      )}
      <div>
        Code: <Code>{code}</Code>
      </div>
      {onRetry && (
        <Button size="xs" variant="default" mt="xs" onClick={onRetry}>
          Try again
        </Button>
      )}
    </Note>
  );
}

/** What the error table advises. The table is loaded with the first failure. */
function useHint(code: string): string | undefined {
  const { data } = useQuery({
    queryKey: ["error-table"],
    queryFn: async (): Promise<Readonly<Record<string, ErrorEntry>>> =>
      (await import("../../protocol/errors/errors.ts")).ERRORS,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    enabled: OWN_HINTS[code] === undefined,
  });
  return OWN_HINTS[code] ?? data?.[code]?.hint;
}
