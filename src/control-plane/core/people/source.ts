const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const GROUPS = 8;
/** The part of an IPv6 address that one site has: 64 bits. */
const SITE_GROUPS = 4;
const NETWORK_GROUPS = 3;

/** Returns what stands for the client at a network address: an IPv4 address, or the first 64 bits of an IPv6 one. */
export function sourceOf(address: string): string {
  const [withoutZone = ""] = address.split("%");
  const [, ipv4] = MAPPED_IPV4.exec(withoutZone) ?? [];
  if (ipv4 !== undefined || !withoutZone.includes(":")) return ipv4 ?? withoutZone;
  const [head = "", tail] = withoutZone.toLowerCase().split("::");
  const first = head === "" ? [] : head.split(":");
  const last = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, GROUPS - first.length - last.length);
  const groups = [...first, ...Array<string>(zeros).fill("0"), ...last].slice(0, SITE_GROUPS);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}

/**
 * Returns the network that a source is in: the first 24 bits of an IPv4 address, or 48 of an IPv6 one, of which one customer of
 * a provider has thousands of sources.
 *
 * @param source as `sourceOf` returns it
 */
export function networkOf(source: string): string {
  if (source.includes(":")) return `${source.split(":").slice(0, NETWORK_GROUPS).join(":")}::/48`;
  const parts = source.split(".");
  return parts.length === 4 ? `${parts.slice(0, 3).join(".")}.0/24` : source;
}
