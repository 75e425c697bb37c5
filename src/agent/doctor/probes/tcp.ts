import { explainNetworkError } from "../../core/net/network-error.ts";
import { firstEndpoint, formatEndpoint } from "../../net/endpoint.ts";
import { openSocket } from "../../net/open-stream.ts";
import { bad, configOf, good, type Probe } from "../probe.ts";

/** The first host on the way takes a connection. */
export const probeTcp: Probe = async (patient, signal) => {
  const hop = firstEndpoint(configOf(patient).control_plane_url);
  const what = `${hop.isProxy ? "the proxy at " : ""}${formatEndpoint(hop)}`;
  try {
    (await openSocket(hop, signal)).destroy();
    return good(`Connected to ${what}.`);
  } catch (error) {
    if (signal.aborted) {
      return bad(
        `No answer from ${what}.`,
        "A firewall swallows it, or the host is off: ask the network's operator whether the port is open.",
      );
    }
    return bad(
      `No connection to ${what}: ${explainNetworkError(error, patient.clock.now())}.`,
      `Check the address and port in ${hop.isProxy ? "https_proxy" : "control_plane_url"}, and whether the other side runs.`,
    );
  }
};
