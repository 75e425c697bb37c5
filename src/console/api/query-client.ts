import { QueryCache, QueryClient } from "@tanstack/react-query";
import { toFailure } from "./failure.ts";
import { KEYS } from "./keys.ts";

const STALE_AFTER_MS = 10_000;
const MAX_RETRIES = 2;

/** The data of the pages. A refused session is looked at again, which leads to the sign-in page. */
export function createQueryClient(): QueryClient {
  const client = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        if (toFailure(error).status === 401 && query.queryKey[0] !== KEYS.session[0])
          void client.invalidateQueries({ queryKey: KEYS.session });
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: STALE_AFTER_MS,
        // The browser's opinion on being online does not matter: the service may be on this machine.
        networkMode: "always",
        retry: (count, error) => count < MAX_RETRIES && toFailure(error).isUnreachable,
      },
      mutations: { networkMode: "always" },
    },
  });
  return client;
}
