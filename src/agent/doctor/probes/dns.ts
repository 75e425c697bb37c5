import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { explainNetworkError } from "../../core/net/network-error.ts";
import { firstEndpoint } from "../../net/endpoint.ts";
import { bad, configOf, good, type Probe } from "../probe.ts";

/** The first host of the route, control plane or proxy, can be looked up. */
export const probeDns: Probe = async (context) => {
  const { host, isProxy } = firstEndpoint(configOf(context).control_plane_url);
  const what = isProxy ? `the proxy ${host}` : host;
  if (isIP(host) !== 0) return good(`Not needed: ${what} is an address.`);
  try {
    const found = await lookup(host, { all: true });
    return good(
      `${what} is ${found
        .map(({ address }) => address)
        .slice(0, 3)
        .join(", ")}.`,
    );
  } catch (error) {
    return bad(
      `${what} cannot be looked up: ${explainNetworkError(error, context.clock.timeOfDay())}.`,
      `Check the name in ${isProxy ? "https_proxy" : "control_plane_url"}, and the name servers in /etc/resolv.conf.`,
    );
  }
};
