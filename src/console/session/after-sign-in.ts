import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { useNavigate } from "react-router";
import { tellSessionChanged } from "../api/session-change.ts";

/** Returns a function that opens a page after a session has begun, without anything of the one before. */
export function useAfterSignIn(): (path: string) => Promise<void> {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useCallback(
    async (path) => {
      client.clear();
      tellSessionChanged();
      await navigate(path, { replace: true });
    },
    [client, navigate],
  );
}

/** The page to open after signing in. Anything but a path of this server is ignored. */
export function nextPath(parameters: URLSearchParams): string {
  const next = parameters.get("next") ?? "";
  // Browsers leave out control characters: a tab between two slashes makes an address of another server.
  return /^\/(?![/\\])\P{Cc}*$/u.test(next) ? next : "/overview";
}
