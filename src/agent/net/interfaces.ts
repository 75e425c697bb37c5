import { existsSync, readdirSync, readFileSync } from "node:fs";
import { type NetworkInterfaceInfo, networkInterfaces } from "node:os";
import { join } from "node:path";
import { isModemInterface } from "../core/host/modem.ts";
import { isLoopback } from "../core/net/hostname.ts";
import { describeInterfaces, type IdleInterface, type NetworkFault } from "../core/net/interface-fault.ts";
import { controlPlaneEndpoint } from "./endpoint.ts";

const SYS = "/sys/class/net";
const IFF_UP = 0x1;
/** Hardware of the kind of Ethernet, radio networks included: `ARPHRD_ETHER`. */
const ETHERNET = "1";

/** Returns why the control plane cannot be reached over any interface; `undefined` if one has an address. */
export function findNetworkFault(controlPlaneUrl: string | undefined): NetworkFault | undefined {
  if (interfacesUp().length > 0) return undefined;
  if (controlPlaneUrl !== undefined && isLoopback(controlPlaneEndpoint(controlPlaneUrl).host)) return undefined;
  return describeInterfaces(idleInterfaces());
}

/** Returns the names of interfaces that have an address and lead out of the device. One without a cable has none. */
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
  const ports = join(SYS, name, "brif");
  if (!existsSync(ports)) return true;
  return readdirSync(ports).some((port) => existsSync(join(SYS, port, "device")));
}

/** Those of modems are the matter of another check. */
function idleInterfaces(): IdleInterface[] {
  return namesOf().flatMap((name) => {
    if (read(name, "type") !== ETHERNET || isModemInterface(name) || !isOutward(name)) return [];
    return [
      {
        name,
        isUp: (Number.parseInt(read(name, "flags"), 16) & IFF_UP) !== 0,
        // Cannot be read while the interface is turned off.
        hasCarrier: read(name, "carrier") === "1",
        isWireless: existsSync(join(SYS, name, "wireless")) || existsSync(join(SYS, name, "phy80211")),
      },
    ];
  });
}

function namesOf(): string[] {
  // Absent in some containers.
  return existsSync(SYS) ? readdirSync(SYS) : [];
}

function read(name: string, file: string): string {
  try {
    return readFileSync(join(SYS, name, file), "utf8").trim();
  } catch {
    return "";
  }
}
