import { Code, Loader } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { useSession } from "../api/session.ts";
import { Note } from "./note.tsx";
import type { UseQueryResult } from "@tanstack/react-query";
import { toFailure } from "../api/failure.ts";
import { Age } from "./age.tsx";
import { FailureNote } from "./failure-note.tsx";

/** Shorter waits need no sign, which would only flicker. */
const MIN_WAIT_MS = 200;

/** Sign that something is being fetched, after a moment. */
export function Loading({ label = "Loading" }: { readonly label?: string }): ReactNode {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), MIN_WAIT_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div role="status" aria-label={label} style={{ minHeight: "3rem", padding: "0.75rem" }}>
      {isShown && <Loader size="sm" />}
    </div>
  );
}

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

interface Props<T> {
  readonly query: Pick<UseQueryResult<T>, "data" | "error" | "refetch" | "dataUpdatedAt">;
  readonly children: (data: T) => ReactNode;
}

/**
 * Shows what a query returned. While there is nothing: that it is being fetched, or why it failed. What was fetched before
 * stays when a later attempt fails, with its age.
 */
export function Loaded<T>({ query, children }: Props<T>): ReactNode {
  const { data, error, refetch, dataUpdatedAt } = query;
  const failure = error ? toFailure(error) : undefined;
  const permission = failure?.status === 403 ? failure.details?.["permission"] : undefined;
  if (typeof permission === "string") return <Forbidden permission={permission} />;
  if (data === undefined) {
    if (!failure) return <Loading />;
    return <FailureNote failure={failure} onRetry={() => void refetch()} />;
  }
  return (
    <>
      {failure && !failure.isUnreachable && (
        <Note
          kind="warn"
          title={
            <>
              This is as of <Age at={dataUpdatedAt / 1000} />.
            </>
          }
        >
          Fetching it again failed: {failure.message}
        </Note>
      )}
      {children(data)}
    </>
  );
}
