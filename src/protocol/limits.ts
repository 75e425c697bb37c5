/** Bounds both sides of the protocol keep. Values are part of the contract: change them only with a protocol version. */

/** Lowest and highest `host_port` a deployment may ask for, both included. */
export const MIN_HOST_PORT = 30_000;
export const MAX_HOST_PORT = 32_767;

/** Largest deploy request body, in bytes. */
export const MAX_REQUEST_BYTES = 256 * 1024;

/** Largest WebSocket frame either side accepts, in bytes. */
export const MAX_FRAME_BYTES = 1024 * 1024;

/** Longest human-readable `message` of an event, in characters; longer text is cut with an ellipsis. */
export const MAX_MESSAGE_LENGTH = 2_000;

/** How long a device may take to acknowledge a command before it counts as not reachable, in milliseconds. */
export const COMMAND_ACK_TIMEOUT_MS = 10_000;

/** How long a deployment may take in all unless the control plane is configured otherwise, in milliseconds. */
export const DEFAULT_DEPLOYMENT_TIMEOUT_MS = 15 * 60_000;

/** Maximum number of items in one page of a list of the API. */
export const MAX_PAGE_SIZE = 200;
