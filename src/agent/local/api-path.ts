/**
 * Prefix of all paths of the local API. Within a version, fields are only added, so that a command works with a daemon
 * of another release.
 */
export const API = "/v1";

/** Response header with the version of the daemon. */
export const VERSION_HEADER = "edge-agent-version";
