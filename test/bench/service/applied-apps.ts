import type { AppReport } from "../../../src/protocol/apps/app-report.ts";
import type { AgentFrame } from "../../../src/protocol/link/frames.ts";

/** What a simulated device reads of an apply request. */
export interface AppliedGroup {
  readonly apps: readonly { readonly app: { readonly name: string; readonly image: string } }[];
}

/** Installs the apps of a group, and returns the device's report of all its apps. */
export function reportOf(group: AppliedGroup, deploymentId: string, apps: Map<string, AppReport>): AgentFrame {
  const since = Math.floor(Date.now() / 1000);
  for (const { app } of group.apps) {
    apps.set(app.name, {
      name: app.name,
      image: app.image,
      image_digest: app.image.split("@")[1] ?? null,
      state: "running",
      desired_state: "running",
      since,
      restarts: 0,
      spec: { ...app },
      last_deployment: { deployment_id: deploymentId, action: "apply", status: "Success", finished_at: since },
    });
  }
  return { type: "report", base: null, hash: deploymentId, apps: [...apps.values()], removed_apps: [] };
}
