/** Default path of the configuration file. */
export const DEFAULT_CONFIG = "/etc/edge-agent/config.json";
export { DEFAULT_STATE_DIR } from "../core/host/default-state-dir.ts";
