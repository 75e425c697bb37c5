import { CLOSE_CODES } from "../../../protocol/link/frames.ts";
import { explainProxyStatus } from "../net/proxy-status.ts";
import type { AttemptOutcome } from "./link-state.ts";

/** Returns the outcome of a WebSocket handshake that was answered with an HTTP status other than 101. */
export function outcomeOfHttpStatus(status: number, retryAfterMs: number | undefined): AttemptOutcome {
  if (status === 401 || status === 403) return refused(`HTTP ${status}`);
  if (status === 409) return { ...CLONED, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  if (status === 426) return unsupported("HTTP 426");
  const shared = status >= 500 || status === 429;
  return {
    kind: "failed",
    reason: httpReason(status),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(shared && { isFleetWide: shared }),
  };
}

/** The control plane keeps the later of two devices with one token away while the other one is connected. */
const CLONED = {
  kind: "replaced",
  reason:
    "another device is connected with this device's token (HTTP 409): both were made from one disk image; enrol this one by itself with a code of its own",
} as const;

function httpReason(status: number): string {
  if (status === 404) return "nothing answers at the path of control_plane_url (HTTP 404): check control_plane_url";
  if (status === 429) return "the control plane asks for fewer connections (HTTP 429)";
  if (status === 503) return "the control plane is not ready (HTTP 503)";
  if (status < 400) {
    return `something other than the control plane answered (HTTP ${status}): check control_plane_url, and whether the network wants a login first`;
  }
  return `the control plane, or a proxy before it, answered with HTTP ${status}`;
}

/** Returns the outcome of a `CONNECT` that the proxy answered with a status other than 200. */
export function outcomeOfProxyStatus(status: number, retryAfterMs: number | undefined): AttemptOutcome {
  return {
    kind: "failed",
    reason: explainProxyStatus(status),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/**
 * Returns the outcome of a session whose WebSocket was closed.
 *
 * @param code its close code; 1006 if the connection broke without one
 * @param goodbyeWindowMs the window of the `goodbye` frame, if one was received
 */
export function outcomeOfClose(code: number, goodbyeWindowMs: number | undefined): AttemptOutcome {
  switch (code) {
    case CLOSE_CODES.unauthorized:
      return refused(`close code ${code}`);
    case CLOSE_CODES.unsupportedProtocol:
      return unsupported(`close code ${code}`);
    case CLOSE_CODES.replaced:
      return {
        kind: "replaced",
        reason:
          "another process connected with this device's token: see whether a second agent runs here, or another device was given a copy of this one's configuration",
      };
  }
  if (goodbyeWindowMs !== undefined) {
    return { kind: "restarting", windowMs: goodbyeWindowMs, reason: "the control plane is restarting" };
  }
  // The control plane caused all of these. When the device's own line fails, no close arrives.
  return { kind: "failed", reason: closeReason(code), isFleetWide: true };
}

function closeReason(code: number): string {
  switch (code) {
    case 1006:
      return "the connection was cut";
    case CLOSE_CODES.goingAway:
    case CLOSE_CODES.restart:
      return `the control plane is shutting down (close code ${code})`;
    case CLOSE_CODES.tooBig:
      return `a message was too large (close code ${code})`;
    case CLOSE_CODES.badFrame:
      return `the control plane could not read what this agent sent (close code ${code})`;
    case CLOSE_CODES.helloTimeout:
      return `the handshake took too long for the control plane (close code ${code})`;
    default:
      return `the control plane closed the connection (close code ${code})`;
  }
}

/** @param how how the control plane refused, such as "HTTP 401" */
function refused(how: string): AttemptOutcome {
  return {
    kind: "refused",
    reason: `the control plane refused this device's token (${how}): check device_token, and whether the asset is still registered`,
  };
}

/** Returns the outcome of an attempt in which the peers have no common protocol version. */
export function unsupported(how: string): AttemptOutcome {
  return {
    kind: "unsupported",
    reason: `the control plane and this agent have no common protocol version (${how}): update the agent`,
  };
}
