import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { type DefaultRoute, defaultRoute } from "../core/host/default-route.ts";
import type { InterfaceCounters } from "../core/traffic/interface-traffic.ts";
import { type InterfaceFacts, type NetworkKind, networkKind } from "../core/traffic/network-kind.ts";

/** The machine's network interfaces, as the kernel shows them. Answers at once; what cannot be read is left out. */
export interface Network {
  /** The way out of the device; `undefined` where there is none. */
  route(): DefaultRoute | undefined;
  kindOf(interfaceName: string): NetworkKind;
  /** Counters of the interfaces that lead out of the machine. */
  counters(): readonly InterfaceCounters[];
}

export interface LinuxNetworkOptions {
  /** What the configuration says an interface is, by its name. */
  readonly kinds?: Readonly<Record<string, NetworkKind>>;
  /** Where the kernel shows them; others are for tests. */
  readonly proc?: string;
  readonly sys?: string;
}

export function createLinuxNetwork({ kinds = {}, proc = "/proc", sys = "/sys" }: LinuxNetworkOptions = {}): Network {
  const folder = join(sys, "class/net");
  const facts = (name: string): InterfaceFacts => readFacts(join(folder, name), name);
  const kindOf = (name: string): NetworkKind => kinds[name] ?? networkKind(facts(name));
  const leadsOut = (name: string): boolean => {
    const { isHardware } = facts(name);
    return isHardware || kinds[name] !== undefined || kindOf(name) === "modem";
  };
  const route = (): DefaultRoute | undefined =>
    defaultRoute(read(join(proc, "net/route")), read(join(proc, "net/ipv6_route")));
  return {
    route,
    kindOf,
    counters() {
      const way = route()?.interface;
      return list(folder)
        .filter((name) => name === way || leadsOut(name))
        .flatMap((name) => readCounters(join(folder, name), name));
    },
  };
}

function readFacts(path: string, name: string): InterfaceFacts {
  const type = Number.parseInt(read(join(path, "type")), 10);
  return {
    name,
    type: Number.isNaN(type) ? undefined : type,
    uevent: read(join(path, "uevent")),
    driver: driverOf(path),
    isWireless: existsSync(join(path, "wireless")) || existsSync(join(path, "phy80211")),
    isHardware: existsSync(join(path, "device")),
  };
}

function readCounters(path: string, name: string): InterfaceCounters[] {
  const sent = read(join(path, "statistics/tx_bytes"));
  const received = read(join(path, "statistics/rx_bytes"));
  return sent === "" || received === "" ? [] : [{ name, sent: Number(sent), received: Number(received) }];
}

function driverOf(path: string): string {
  try {
    return basename(readlinkSync(join(path, "device/driver")));
  } catch {
    return "";
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
