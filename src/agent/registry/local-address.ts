import { lookup } from "node:dns";
import { BlockList, isIP, isIPv6, type LookupFunction } from "node:net";
import { stripBrackets } from "../core/net/hostname.ts";
import { RegistryError } from "./registry-error.ts";

/** This machine itself, or what only the machines of its own link can reach: metadata services, modems. */
export type LocalAddressKind = "loopback" | "link-local";

/** Addresses a request may not go to. */
export type ForbiddenAddresses = ReadonlySet<LocalAddressKind>;

const LOOPBACK = new BlockList();
// Of IPv6 also the forms that hold one of IPv4: `::127.0.0.1`, and what gateways to IPv4 translate.
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addSubnet("0.0.0.0", 8, "ipv4");
LOOPBACK.addSubnet("::", 96, "ipv6");
LOOPBACK.addSubnet("64:ff9b::7f00:0", 104, "ipv6");
LOOPBACK.addSubnet("64:ff9b::", 104, "ipv6");
const LINK_LOCAL = new BlockList();
LINK_LOCAL.addSubnet("169.254.0.0", 16, "ipv4");
LINK_LOCAL.addSubnet("fe80::", 10, "ipv6");
LINK_LOCAL.addSubnet("64:ff9b::a9fe:0", 112, "ipv6");

/** What is special of an address, as text without brackets; nothing of one that is elsewhere, or that is a name. */
export function localAddressKind(address: string): LocalAddressKind | undefined {
  const [plain = ""] = address.split("%");
  if (isIP(plain) === 0) return undefined;
  const family = isIPv6(plain) ? "ipv6" : "ipv4";
  if (LOOPBACK.check(plain, family)) return "loopback";
  return LINK_LOCAL.check(plain, family) ? "link-local" : undefined;
}

/**
 * Refuses a host that is written as an address it may not be. Names are looked at by `guardedLookup`.
 *
 * @param hostname of a `URL`, which has brought every way to write an address into one form
 */
export function rejectForbiddenAddress(hostname: string, forbidden: ForbiddenAddresses): void {
  const address = stripBrackets(hostname);
  const kind = localAddressKind(address);
  if (kind && forbidden.has(kind)) throw forbiddenAddressError(hostname, address, kind);
}

/**
 * Looks names up as Node.js does, at the moment of the connection, and fails where any of the addresses is forbidden: a
 * name may have another address than a moment ago.
 */
export function guardedLookup(forbidden: ForbiddenAddresses, look: typeof lookup = lookup): LookupFunction {
  return (hostname, options, callback) => {
    look(hostname, { ...options, all: true }, (error, found) => {
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
