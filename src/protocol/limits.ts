/** Bounds that both sides of the protocol enforce. They are part of the contract: changing one needs a new protocol version. */

/** Range of `host_port`, both ends included. */
export const MIN_HOST_PORT = 30_000;
export const MAX_HOST_PORT = 32_767;

/** Maximum size of a request body, without the files of an app. */
export const MAX_REQUEST_BYTES = 256 * 1024;

/** Maximum size of the files of one app whose contents a request has, and maximum number of its files. A device may set less. */
export const MAX_APP_FILES_BYTES = 16 * 1024 * 1024;
export const MAX_APP_FILES = 64;

/** Maximum size of the files of one app with those that are uploads, unpacked. A device may set less. */
export const MAX_UPLOADED_FILES_BYTES = 1024 * 1024 * 1024;

/** What the files of one request may have together, unpacked, unless the device's `policy.max_files_bytes` says otherwise. */
export const DEFAULT_FILES_BYTES = 4 * 1024 * 1024;

/** Maximum size of a request body that may have files, whose contents may be base64. */
export const MAX_APP_REQUEST_BYTES = 640 * 1024;

/** Maximum size of an apply request, and of the frame that carries it. */
export const MAX_APPLY_BYTES = 768 * 1024;

/** Maximum size of a WebSocket message that either side accepts. */
export const MAX_FRAME_BYTES = 1024 * 1024;

/** Maximum length of an event's `message`, in characters; longer text is truncated with an ellipsis. */
export const MAX_MESSAGE_LENGTH = 2_000;

/** How long the control plane waits for a device to acknowledge a command before it counts as not reachable. */
export const COMMAND_ACK_TIMEOUT_MS = 10_000;

/** Maximum time to wait for a device that is not connected, in seconds. */
export const MAX_WAIT_FOR_DEVICE_S = 30 * 24 * 3600;

/** Default for how long a deployment may take in total. */
export const DEFAULT_DEPLOYMENT_TIMEOUT_MS = 15 * 60_000;

/** Maximum number of items in one page of a list of the API. */
export const MAX_PAGE_SIZE = 200;

/** How many there are where the request does not say. */
export const DEFAULT_PAGE_SIZE = 50;

/** Maximum length of a cursor, which holds the filters of its list. */
export const MAX_CURSOR_LENGTH = 8192;
