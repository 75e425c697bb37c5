/** Where the configuration is looked for. */
export const DEFAULT_CONFIG = "/etc/edge-agent/config.json";
/** Where the agent keeps what has to outlive it. */
export const DEFAULT_STATE_DIR = "/var/lib/edge-agent";
