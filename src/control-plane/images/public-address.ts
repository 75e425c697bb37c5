import { lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { ResolutionFailure } from "./resolution-failure.ts";

/** Looks up all addresses of a name, as `lookup` of `node:dns` does. */
export type LookupAll = (
  hostname: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, found: readonly { address: string; family: number }[]) => void,
) => void;

/** Whether an IP address is one of the public internet. */
export type IsPublic = (address: string) => boolean;

const V4_NOT_PUBLIC = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  // Between a provider and its customers (CGNAT).
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  // Link-local: also the metadata services of clouds.
  ["169.254.0.0", 16],
  // Services of Azure for its own machines, on an address that is otherwise public.
  ["168.63.129.16", 32],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  // Multicast, reserved, broadcast.
  ["224.0.0.0", 3],
] as const;

/** Inside `2000::/3`, the only range that is public at all. */
const V6_NOT_PUBLIC = [
  // Teredo and other assignments of protocols.
  ["2001::", 23],
  ["2001:db8::", 32],
  // 6to4: contains an IPv4 address.
  ["2002::", 16],
  ["3fff::", 20],
] as const;

const NOT_PUBLIC = new BlockList();
for (const [network, prefix] of V4_NOT_PUBLIC) NOT_PUBLIC.addSubnet(network, prefix, "ipv4");
for (const [network, prefix] of V6_NOT_PUBLIC) NOT_PUBLIC.addSubnet(network, prefix, "ipv6");
// Leaves out IPv4-mapped addresses, NAT64, loopback, unspecified, unique local, link-local and multicast.
const V6_GLOBAL = new BlockList();
V6_GLOBAL.addSubnet("2000::", 3, "ipv6");

/** @param address without brackets; false for what is no IP address */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !NOT_PUBLIC.check(address, "ipv4");
    case 6:
      return V6_GLOBAL.check(address, "ipv6") && !NOT_PUBLIC.check(address, "ipv6");
    default:
      return false;
  }
}

/**
 * Returns a `lookup` for connections that fails if any address of the name is not public. The addresses it passes on are those
 * connected to, so that a name server cannot return another address afterwards.
 */
export function publicLookup(isPublic: IsPublic = isPublicAddress, resolve: LookupAll = lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, "");
      const [first] = found;
      if (!first || found.some(({ address }) => !isPublic(address))) return callback(privateAddress(hostname), "");
      return options.all ? callback(null, [...found]) : callback(null, first.address, first.family);
    });
  };
}

/** Does not name the address: names inside a network are not for customers to look up. */
export function privateAddress(host: string): ResolutionFailure {
  const next = "write the image with its digest, or have the operator of the service list the host in image_resolution";
  return new ResolutionFailure("private_address", `${host} has no public address; ${next}`);
}
