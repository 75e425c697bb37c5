import { z } from "zod";

/** What a deployment does to its app. */
export const deploymentActionSchema = z
  .enum(["deploy", "update", "remove", "stop", "start", "restart", "apply"])
  .meta({ id: "DeploymentAction", description: "What a deployment does to its app." });
export type DeploymentAction = z.output<typeof deploymentActionSchema>;

/** Actions on an installed app: all except `deploy`, and `apply`, which concerns several apps. */
export const appActionSchema = deploymentActionSchema.exclude(["deploy", "apply"]);
export type AppAction = z.output<typeof appActionSchema>;
