import { explainNetworkError } from "../../core/net/network-error.ts";
import { firstEndpoint, formatEndpoint } from "../../net/endpoint.ts";
import { openSocket } from "../../net/open-stream.ts";
import { bad, configOf, good, type Probe } from "../probe.ts";

/** The first host of the route, control plane or proxy, accepts a connection. */
export const probeTcp: Probe = async (context, signal) => {
  const endpoint = firstEndpoint(configOf(context).control_plane_url);
  const what = `${endpoint.isProxy ? "the proxy at " : ""}${formatEndpoint(endpoint)}`;
  try {
    (await openSocket(endpoint, signal)).destroy();
    return good(`Connected to ${what}.`);
  } catch (error) {
    if (signal.aborted) {
      return bad(
        `No answer from ${what}.`,
        "A firewall drops it, or the host is off: ask the network's operator whether the port is open.",
      );
    }
    return bad(
      `No connection to ${what}: ${explainNetworkError(error, context.clock.timeOfDay())}.`,
      `Check the address and port in ${endpoint.isProxy ? "https_proxy" : "control_plane_url"}, and whether the other side runs.`,
    );
  }
};
