import { deadline } from "../../../lib/clock.ts";
import { explainNetworkError } from "../../core/net/network-error.ts";
import { firstEndpoint, formatEndpoint } from "../../net/endpoint.ts";
import { openSocket } from "../../net/open-stream.ts";
import { findPortal } from "../peer.ts";
import { bad, good, type Probe, type ProbeContext, settingsOf } from "../probe.ts";
import { describeMissingRoute, isWayMissing } from "../route.ts";
import { describePortal } from "./tls.ts";

/** Of the probe's time, for the connection; the rest finds out why it fails. Milliseconds. */
const CONNECT_TIMEOUT_MS = 4_000;

/** The first host of the route, control plane or proxy, accepts a connection. */
export const probeTcp: Probe = async (context, signal) => {
  const { control_plane_url: address } = settingsOf(context);
  const endpoint = firstEndpoint(address);
  const what = `${endpoint.isProxy ? "the proxy at " : ""}${formatEndpoint(endpoint)}`;
  using limit = deadline(context.clock, CONNECT_TIMEOUT_MS, signal);
  try {
    (await openSocket(endpoint, limit.signal)).destroy();
    return good(`Connected to ${what}.`);
  } catch (error) {
    const portal = await findPortal(address, signal);
    if (portal !== undefined) return describePortal(portal);
    if (limit.signal.aborted) {
      return bad(
        `No answer from ${what}.`,
        hintOfProxy(context) ??
          "A firewall drops it, or the host is off: ask the network's operator whether the port is open.",
      );
    }
    const routeless = isWayMissing(error) ? describeMissingRoute(`No connection to ${what}`) : undefined;
    if (routeless) return routeless;
    return bad(
      `No connection to ${what}: ${explainNetworkError(error, context.clock.timeOfDay())}.`,
      (endpoint.isProxy ? undefined : hintOfProxy(context)) ??
        `Check the address and port in ${endpoint.isProxy ? "https_proxy of the unit (systemctl cat edge-agent)" : "control_plane_url"}, and whether the other side runs.`,
    );
  }
};

/** A proxy of the shell that the service does not have: it has only what its unit sets. */
function hintOfProxy({ callerProxy }: ProbeContext): string | undefined {
  if (callerProxy === undefined) return undefined;
  return `This shell has a proxy and the service has none: sudo systemctl edit edge-agent, with [Service] and Environment=${callerProxy}; then: sudo systemctl restart edge-agent`;
}
