import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { apiPath } from "./path.ts";

const deploymentSchema = z.looseObject({
  deployment_id: z.string(),
  asset_id: z.string().optional(),
  app: z.string(),
  action: z.string().default("deploy"),
  image: z.string().optional(),
  dry_run: z.boolean().optional(),
  status: z.string(),
  code: z.string().nullish(),
  message: z.string().nullish(),
  created_at: z.number(),
  finished_at: z.number().nullish(),
  cancel_requested_at: z.number().nullish(),
});
export type Deployment = z.output<typeof deploymentSchema>;

const deploymentPageSchema = z.looseObject({
  deployments: z.array(deploymentSchema),
  next_cursor: z.string().nullable(),
});
export type DeploymentPage = z.output<typeof deploymentPageSchema>;

export interface DeploymentQuery {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Which deployments of the account are listed. */
export interface AccountDeploymentQuery extends DeploymentQuery {
  readonly status?: string | undefined;
  readonly app?: string | undefined;
  readonly selector?: string | undefined;
  /** Unix seconds. */
  readonly since?: number | undefined;
}

/** Returns the path of an asset's deployments, of one deployment, or of a resource below it. */
export function deploymentsPath(asset: string, ...rest: readonly string[]): string {
  return apiPath("v1", "assets", asset, "edge", "deployments", ...rest);
}

export function listDeployments(client: ApiClient, asset: string, query: DeploymentQuery): Promise<DeploymentPage> {
  return client.json({ path: deploymentsPath(asset), query: { ...query } }, deploymentPageSchema);
}

export function listAccountDeployments(client: ApiClient, query: AccountDeploymentQuery): Promise<DeploymentPage> {
  return client.json({ path: apiPath("v1", "deployments"), query: { ...query } }, deploymentPageSchema);
}

export function getDeployment(client: ApiClient, asset: string, id: string): Promise<Deployment> {
  return client.json({ path: deploymentsPath(asset, id) }, deploymentSchema);
}

/** Requests that the deployment is stopped and undone. */
export function cancelDeployment(client: ApiClient, asset: string, id: string): Promise<Deployment> {
  return client.json({ method: "DELETE", path: deploymentsPath(asset, id) }, deploymentSchema);
}
