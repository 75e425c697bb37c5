import { lookup } from "node:dns";
import { BlockList, isIP, isIPv6, type LookupFunction } from "node:net";
import { stripBrackets } from "../core/net/hostname.ts";
import { RegistryError } from "./registry-error.ts";

/** This machine, or an address only reachable on its own link, such as metadata services and modems. */
export type LocalAddressKind = "loopback" | "link-local";

/** Kinds of addresses that a request must not go to. */
export type ForbiddenAddresses = ReadonlySet<LocalAddressKind>;

const LOOPBACK = new BlockList();
// Of IPv6 also forms with an embedded IPv4 address: `::127.0.0.1`, and the NAT64 prefix.
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addSubnet("0.0.0.0", 8, "ipv4");
LOOPBACK.addSubnet("::", 96, "ipv6");
LOOPBACK.addSubnet("64:ff9b::7f00:0", 104, "ipv6");
LOOPBACK.addSubnet("64:ff9b::", 104, "ipv6");
const LINK_LOCAL = new BlockList();
LINK_LOCAL.addSubnet("169.254.0.0", 16, "ipv4");
LINK_LOCAL.addSubnet("fe80::", 10, "ipv6");
LINK_LOCAL.addSubnet("64:ff9b::a9fe:0", 112, "ipv6");

/** Returns the kind of a local address, without brackets; `undefined` for other addresses and for names. */
export function localAddressKind(address: string): LocalAddressKind | undefined {
  const [plain = ""] = address.split("%");
  if (isIP(plain) === 0) return undefined;
  const family = isIPv6(plain) ? "ipv6" : "ipv4";
  if (LOOPBACK.check(plain, family)) return "loopback";
  return LINK_LOCAL.check(plain, family) ? "link-local" : undefined;
}

/**
 * Throws if the host is a forbidden IP address. Names are checked by `guardedLookup`.
 *
 * @param hostname of a `URL`, which normalizes IP addresses
 */
export function rejectForbiddenAddress(hostname: string, forbidden: ForbiddenAddresses): void {
  const address = stripBrackets(hostname);
  const kind = localAddressKind(address);
  if (kind && forbidden.has(kind)) throw forbiddenAddressError(hostname, address, kind);
}

/**
 * Returns a `lookup` that fails if any address of a name is forbidden. Runs as part of the connection, so that the checked
 * addresses are those connected to.
 */
export function guardedLookup(forbidden: ForbiddenAddresses, resolve: typeof lookup = lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, "");
      for (const { address } of found) {
        const kind = localAddressKind(address);
        if (kind && forbidden.has(kind)) return callback(forbiddenAddressError(hostname, address, kind), "");
      }
      const [first] = found;
      return options.all ? callback(null, found) : callback(null, first?.address ?? "", first?.family);
    });
  };
}

function forbiddenAddressError(host: string, address: string, kind: LocalAddressKind): RegistryError {
  const name = stripBrackets(host) === address ? host : `${host} (${address})`;
  const what = kind === "loopback" ? "this machine itself" : "an address of the device's own link";
  return new RegistryError("refused_target", `the registry leads to ${name}, which is ${what}`);
}
