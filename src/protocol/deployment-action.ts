import { z } from "zod";

/** What a deployment does to its app. */
export const deploymentActionSchema = z
  .enum(["deploy", "update", "remove", "stop", "start", "restart"])
  .meta({ id: "DeploymentAction", description: "What a deployment does to its app." });
export type DeploymentAction = z.output<typeof deploymentActionSchema>;

/** Actions on an installed app: all except `deploy`. */
export const appActionSchema = deploymentActionSchema.exclude(["deploy"]);
export type AppAction = z.output<typeof appActionSchema>;
