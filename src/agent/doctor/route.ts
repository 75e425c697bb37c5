import { createLinuxNetwork } from "../host/network.ts";
import { bad } from "./probe.ts";
import type { CheckResult } from "../core/doctor/checks.ts";

/** Codes with which the kernel refuses a connection for which it has no way. */
const NO_WAY = new Set(["ENETUNREACH", "ENETDOWN", "EADDRNOTAVAIL"]);

/** Whether the kernel has no way to an address, as far as an error tells. */
export function isWayMissing(error: unknown): boolean {
  return NO_WAY.has((error as NodeJS.ErrnoException).code ?? "");
}

/**
 * Returns what to say of something that cannot be reached because the device has no default route; `undefined` if it has
 * one. A site's own network needs none: this is for what has failed.
 *
 * @param what that cannot be reached, as a sentence without a stop
 */
export function describeMissingRoute(what: string): CheckResult | undefined {
  if (createLinuxNetwork().route() !== undefined) return undefined;
  return bad(
    `${what}: this device has no default route, so it reaches its own network only.`,
    "Have the network give it one (DHCP): sudo networkctl renew INTERFACE, or sudo nmcli device reapply INTERFACE; or by hand: sudo ip route add default via GATEWAY; see: ip route",
  );
}
