import { existsSync, readdirSync } from "node:fs";
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { isModemInterface } from "../../core/host/modem.ts";
import { isLoopback } from "../../core/net/hostname.ts";
import { controlPlaneEndpoint } from "../../net/endpoint.ts";
import { bad, good, type Probe } from "../probe.ts";

/** An interface that leads out of the device has an address. */
export const probeInterface: Probe = async ({ config }) => {
  const up = interfacesUp().map((name) => (isModemInterface(name) ? `${name} (modem)` : name));
  if (up.length > 0) return good(`Up with an address: ${up.join(", ")}.`);
  if (!(config instanceof Error) && isLoopback(controlPlaneEndpoint(config.control_plane_url).host)) {
    return good("None is up, and none is needed: the control plane is on this device.");
  }
  return bad(
    "No network interface has an address.",
    "Check cable, SIM, antenna and APN: ip address, and mmcli -m any for a modem.",
  );
};

/** Returns the names of interfaces that have an address and lead out of the device. */
export function interfacesUp(): string[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    addresses?.some(leadsOut) && isOutward(name) ? [name] : [],
  );
}

function leadsOut({ internal, address }: NetworkInterfaceInfo): boolean {
  return !internal && !address.toLowerCase().startsWith("fe80:");
}

/** Whether it is none of the container engine's own interfaces, which have addresses even without a network. */
function isOutward(name: string): boolean {
  if (name.startsWith("veth")) return false;
  const ports = `/sys/class/net/${name}/brif`;
  if (!existsSync(ports)) return true;
  return readdirSync(ports).some((port) => existsSync(`/sys/class/net/${port}/device`));
}
