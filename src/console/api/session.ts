import { useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { createContext, use } from "react";
import type { Session } from "../../protocol/api-types.ts";
import { call } from "./client.ts";
import { KEYS } from "./keys.ts";
import { forgetOthers } from "./session-change.ts";

/** Who is signed in, as below `SessionContext`. */
export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = use(SessionContext);
  if (!session) throw new Error("this page is shown without a session");
  return session;
}

/** Returns whether the person may do something, by the name of the permission. */
export function usePermission(permission: string): boolean {
  return useSession().permissions.includes(permission);
}

export function useSessionQuery(): UseQueryResult<Session> {
  const client = useQueryClient();
  return useQuery({
    queryKey: KEYS.session,
    queryFn: async ({ signal }) => {
      const session = await call("GET /v1/session", { signal });
      forgetOthers(client, session);
      return session;
    },
  });
}
