import { z } from "zod";

/** What a deployment does to its app. */
export const deploymentActionSchema = z
  .enum(["deploy", "update", "remove", "stop", "start", "restart", "apply", "update_agent"])
  .meta({ id: "DeploymentAction", description: "What a deployment does to its app." });
export type DeploymentAction = z.output<typeof deploymentActionSchema>;

/** Actions on an installed app: all except `deploy`, `apply`, which concerns several apps, and `update_agent`, which concerns none. */
export const appActionSchema = deploymentActionSchema.exclude(["deploy", "apply", "update_agent"]);
export type AppAction = z.output<typeof appActionSchema>;
