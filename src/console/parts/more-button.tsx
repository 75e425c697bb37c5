import type { ReactNode } from "react";
import { PendingButton } from "./form.tsx";

interface Props {
  readonly query: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    readonly fetchNextPage: () => unknown;
  };
}

/** Fetches the next page of a list, while there is one. */
export function MoreButton({ query }: Props): ReactNode {
  if (!query.hasNextPage) return null;
  return (
    <PendingButton
      variant="default"
      mt="sm"
      loading={query.isFetchingNextPage}
      onClick={() => void query.fetchNextPage()}
    >
      Show more
    </PendingButton>
  );
}
