import { explainNetworkError } from "../../core/net/network-error.ts";
import { explainProxyStatus } from "../../core/net/proxy-status.ts";
import { proxyFor } from "../../net/proxy.ts";
import { controlPlaneEndpoint, formatEndpoint } from "../../net/endpoint.ts";
import { openProxyStream } from "../../net/open-stream.ts";
import { bad, configOf, good, type Probe } from "../probe.ts";

/** The proxy, where the environment names one, makes a tunnel to the control plane. */
export const probeProxy: Probe = async (patient, signal) => {
  const { control_plane_url: address, extraCa } = configOf(patient);
  const proxy = proxyFor(address);
  if (!proxy) return good("None is set, the connection is direct.");
  const hop = controlPlaneEndpoint(address);
  const target = formatEndpoint(hop);
  try {
    const { status, stream } = await openProxyStream(proxy, hop, extraCa, signal);
    stream.destroy();
    if (status === 200) return good(`${proxy.host} connects to ${target}.`);
    return bad(
      `${proxy.host}: ${explainProxyStatus(status)}.`,
      status === 407
        ? "Put user name and password into https_proxy."
        : `Ask for ${target} to be allowed, or add the host to no_proxy.`,
    );
  } catch (error) {
    const why = signal.aborted ? "it does not answer" : explainNetworkError(error, patient.clock.now());
    return bad(`${proxy.host}: ${why}.`, "Check https_proxy: is there an HTTP proxy at that address and port?");
  }
};
