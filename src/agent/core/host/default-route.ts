/** Default route of the device. */
export interface DefaultRoute {
  readonly interface: string;
  /** Address of the gateway as the kernel writes it; empty if there is none, as with a modem. */
  readonly gateway: string;
}

interface Candidate extends DefaultRoute {
  readonly metric: number;
}

const UP = 0x1;
const REJECT = 0x200;

/**
 * Returns the default route with the lowest metric. IPv6 is used only if there is no IPv4 route.
 *
 * @param route text of `/proc/net/route`
 * @param ipv6Route text of `/proc/net/ipv6_route`
 */
export function defaultRoute(route: string, ipv6Route: string): DefaultRoute | undefined {
  return best(route.split("\n").flatMap(fromIpv4)) ?? best(ipv6Route.split("\n").flatMap(fromIpv6));
}

function best(candidates: readonly Candidate[]): DefaultRoute | undefined {
  const [first] = candidates.toSorted((a, b) => a.metric - b.metric);
  return first && { interface: first.interface, gateway: first.gateway };
}

/** `Iface Destination Gateway Flags RefCnt Use Metric Mask ...`, numbers in hexadecimal, the metric in decimal. */
function fromIpv4(line: string): Candidate[] {
  const [name = "", destination, gateway = "", flags = "", , , metric, mask] = line.trim().split(/\s+/);
  if (destination !== "00000000" || mask !== "00000000" || !isUsable(flags)) return [];
  return [{ interface: name, gateway: /^0*$/.test(gateway) ? "" : gateway, metric: Number(metric) }];
}

/** `destination length source length gateway metric refcount use flags interface`, all in hexadecimal. */
function fromIpv6(line: string): Candidate[] {
  const [destination = "", length, , , gateway = "", metric = "", , , flags = "", name = ""] = line.trim().split(/\s+/);
  if (!/^0{32}$/.test(destination) || length !== "00" || name === "lo" || !isUsable(flags)) return [];
  return [{ interface: name, gateway: /^0*$/.test(gateway) ? "" : gateway, metric: Number.parseInt(metric, 16) }];
}

function isUsable(flags: string): boolean {
  const bits = Number.parseInt(flags, 16);
  return (bits & UP) !== 0 && (bits & REJECT) === 0;
}
