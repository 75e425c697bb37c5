/** Default path of the configuration file. */
export const DEFAULT_CONFIG = "/etc/edge-agent/config.json";
/** Default state directory. */
export const DEFAULT_STATE_DIR = "/var/lib/edge-agent";
