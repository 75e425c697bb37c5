/** Default state directory. */
export const DEFAULT_STATE_DIR = "/var/lib/edge-agent";
