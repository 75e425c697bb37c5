import { explainNetworkError } from "../../core/net/network-error.ts";
import { explainProxyStatus } from "../../core/net/proxy-status.ts";
import { proxyFor } from "../../net/proxy.ts";
import { controlPlaneEndpoint, formatEndpoint } from "../../net/endpoint.ts";
import { openProxyStream } from "../../net/open-stream.ts";
import { bad, good, type Probe, settingsOf } from "../probe.ts";

/** The proxy, if the environment sets one, connects to the control plane. */
export const probeProxy: Probe = async (context, signal) => {
  const { control_plane_url: address } = settingsOf(context);
  const extraCa = context.config instanceof Error ? undefined : context.config.extraCa;
  const proxy = proxyFor(address);
  if (!proxy) return good("None is set, the connection is direct.");
  const endpoint = controlPlaneEndpoint(address);
  const target = formatEndpoint(endpoint);
  try {
    const { status, stream } = await openProxyStream(proxy, endpoint, extraCa, signal);
    stream.destroy();
    if (status === 200) return good(`${proxy.host} connects to ${target}.`);
    return bad(
      `${proxy.host}: ${explainProxyStatus(status)}.`,
      status === 407
        ? "Put user name and password into https_proxy."
        : `Ask for ${target} to be allowed, or add the host to no_proxy.`,
    );
  } catch (error) {
    const why = signal.aborted ? "it does not answer" : explainNetworkError(error, context.clock.timeOfDay());
    return bad(`${proxy.host}: ${why}.`, "Check https_proxy: is there an HTTP proxy at that address and port?");
  }
};
