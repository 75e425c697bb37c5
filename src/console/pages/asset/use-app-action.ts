import { useMutation, type UseMutationResult } from "@tanstack/react-query";
import { useRef } from "react";
import { startDeployment } from "../deployment/start-deployment.ts";

export type AppAction = "start" | "stop" | "restart" | "remove";

/** Starts, stops, restarts or removes an app. `onStarted` is called with the id of the deployment. */
export function useAppAction(
  assetId: string,
  app: string,
  onStarted: (deploymentId: string) => void,
): UseMutationResult<string, Error, AppAction> {
  // A repeated attempt after a lost answer must not become a second deployment.
  const keys = useRef<Partial<Record<AppAction, string>>>({});
  return useMutation({
    mutationFn: async (action) => {
      const key = (keys.current[action] ??= crypto.randomUUID());
      const path = { asset_id: assetId, name: app };
      if (action === "remove")
        return await startDeployment("DELETE /v1/assets/{asset_id}/edge/apps/{name}", { path }, key);
      return await startDeployment(`POST /v1/assets/{asset_id}/edge/apps/{name}/${action}`, { path }, key);
    },
    onSuccess: (id, action) => {
      delete keys.current[action];
      onStarted(id);
    },
  });
}
