import { CLOSE_CODES } from "../../../protocol/frames.ts";
import { explainProxyStatus } from "../net/proxy-status.ts";
import type { AttemptOutcome } from "./link-state.ts";

/** What an HTTP answer to the WebSocket handshake means, other than 101. */
export function outcomeOfHttpStatus(status: number, retryAfterMs: number | undefined): AttemptOutcome {
  if (status === 401 || status === 403) return refused(`HTTP ${status}`);
  if (status === 426) return unsupported("HTTP 426");
  const shared = status >= 500 || status === 429;
  return {
    kind: "failed",
    reason: httpReason(status),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(shared && { isFleetWide: shared }),
  };
}

function httpReason(status: number): string {
  if (status === 404) return "nothing answers at the path of control_plane_url (HTTP 404): check control_plane_url";
  if (status === 429) return "the control plane asks for fewer connections (HTTP 429)";
  if (status === 503) return "the control plane is not ready (HTTP 503)";
  if (status < 400) {
    return `something other than the control plane answered (HTTP ${status}): check control_plane_url, and whether the network wants a login first`;
  }
  return `the control plane, or a proxy before it, answered with HTTP ${status}`;
}

/** What a proxy's answer to `CONNECT` means, other than 200. */
export function outcomeOfProxyStatus(status: number, retryAfterMs: number | undefined): AttemptOutcome {
  return {
    kind: "failed",
    reason: explainProxyStatus(status),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/**
 * What the end of an established WebSocket means.
 *
 * @param code its close code; 1006 where the connection was cut without one
 * @param goodbyeWindowMs what a `goodbye` frame asked for, if there was one
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
  // All of these were said, or left unsaid, by the other side: where the line fails, nothing arrives at all.
  return { kind: "failed", reason: closeReason(code), isFleetWide: true };
}

function closeReason(code: number): string {
  switch (code) {
    case 1006:
      return "the connection was cut";
    case CLOSE_CODES.goingAway:
    case CLOSE_CODES.restart:
      return `the control plane is going away (close code ${code})`;
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

/** @param how where it was said, such as "HTTP 401" */
function refused(how: string): AttemptOutcome {
  return {
    kind: "refused",
    reason: `the control plane refused this device's token (${how}): check device_token, and whether the asset is still registered`,
  };
}

/** The peers have no protocol version in common. */
export function unsupported(how: string): AttemptOutcome {
  return {
    kind: "unsupported",
    reason: `the control plane and this agent speak no common version of the protocol (${how}): update the agent`,
  };
}
