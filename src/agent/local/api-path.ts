/**
 * Where every path of the local API begins. It carries the version: within one, fields are only added, so that a
 * command and a daemon of neighbouring releases understand each other.
 */
export const API = "/v1";

/** Version of the daemon, on each of its answers. */
export const VERSION_HEADER = "edge-agent-version";
