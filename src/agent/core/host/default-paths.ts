/** Default path of the configuration file. */
export const DEFAULT_CONFIG = "/etc/edge-agent/config.json";
/** Where the packaged configuration has the device token. */
export const DEFAULT_TOKEN_FILE = "/etc/edge-agent/token";
/** Default state directory. */
export const DEFAULT_STATE_DIR = "/var/lib/edge-agent";
