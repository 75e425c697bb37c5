const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
const GROUPS = 8;
/** The part of an IPv6 address that one site has: 64 bits. */
const SITE_GROUPS = 4;

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
