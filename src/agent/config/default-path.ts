/** Where the configuration is looked for. */
export const DEFAULT_CONFIG = "/etc/edge-agent/config.json";
