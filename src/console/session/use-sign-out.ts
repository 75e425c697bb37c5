import { useMutation, useQueryClient, type UseMutationResult } from "@tanstack/react-query";
import { useNavigate } from "react-router";
import { call } from "../api/client.ts";
import { toFailure } from "../api/failure.ts";
import { tellSessionChanged } from "../api/session-change.ts";

/** Ends the session and forgets everything that was fetched with it. */
export function useSignOut(): UseMutationResult<void, Error, void> {
  const client = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: async () => {
      await call("DELETE /v1/session").catch((error: unknown) => {
        // It has ended already.
        if (toFailure(error).status !== 401) throw error;
      });
    },
    onSuccess: async () => {
      tellSessionChanged();
      await navigate("/sign-in");
      client.clear();
    },
  });
}
