import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { toFailure } from "../api/failure.ts";
import { Age } from "./age.tsx";
import { FailureNote } from "./failure-note.tsx";
import { Forbidden } from "./forbidden.tsx";
import { Loading } from "./loading.tsx";
import { Note } from "./note.tsx";

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
