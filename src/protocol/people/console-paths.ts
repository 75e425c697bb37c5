/**
 * Paths of the console's pages, as patterns of its router and of the server, which serves the same document at each of
 * them. None is below `/v1`.
 */
export const CONSOLE_PATHS = [
  "/",
  "/setup",
  "/sign-in",
  "/invitation",
  "/login-request",
  "/overview",
  "/assets",
  "/assets/:asset_id",
  "/assets/:asset_id/deploy",
  "/assets/:asset_id/deployments/:deployment_id",
  "/assets/:asset_id/apps/:app/log",
  "/assets/:asset_id/apps/:app/update",
  "/fleets",
  "/fleets/:fleet",
  "/fleets/:fleet/rollouts/:rollout_id",
  "/sims",
  "/alerts",
  "/alerts/settings",
  "/enrol",
  "/people",
  "/developer",
  "/audit",
  "/profile",
] as const;
export type ConsolePath = (typeof CONSOLE_PATHS)[number];

/** Path of the console's script and style files, whose names contain a hash of their content. */
export const CONSOLE_FILES_PATH = "/console";
