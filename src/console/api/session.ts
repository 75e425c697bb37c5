import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { createContext, use } from "react";
import type { Session } from "./types.ts";
import { call } from "./client.ts";
import { KEYS } from "./keys.ts";

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
  return useQuery({ queryKey: KEYS.session, queryFn: ({ signal }) => call("GET /v1/session", { signal }) });
}
