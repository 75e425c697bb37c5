import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { type DefaultRoute, defaultRoute } from "../core/host/default-route.ts";
import type { InterfaceCounters } from "../core/traffic/interface-traffic.ts";
import { type InterfaceFacts, type NetworkKind, networkKind } from "../core/traffic/network-kind.ts";

/** The network interfaces of the kernel. Synchronous; unreadable ones are left out. */
export interface Network {
  /** The default route; `undefined` when there is none. */
  route(): DefaultRoute | undefined;
  kindOf(interfaceName: string): NetworkKind;
  /** Counters of the interfaces that lead off the device. */
  counters(): readonly InterfaceCounters[];
}

export interface LinuxNetworkOptions {
  /** Kinds set in the configuration, by interface name. */
  readonly kinds?: Readonly<Record<string, NetworkKind>>;
  /** Mount points of procfs and sysfs; tests set others. */
  readonly proc?: string;
  readonly sys?: string;
}

export function createLinuxNetwork({ kinds = {}, proc = "/proc", sys = "/sys" }: LinuxNetworkOptions = {}): Network {
  const directory = join(sys, "class/net");
  const facts = (name: string): InterfaceFacts => readFacts(join(directory, name), name);
  const kindOf = (name: string): NetworkKind => kinds[name] ?? networkKind(facts(name));
  // A device has an interface for each container: what one look answers is not read further.
  const isOutward = (name: string): boolean =>
    kinds[name] !== undefined || isHardware(join(directory, name)) || kindOf(name) === "modem";
  const route = (): DefaultRoute | undefined =>
    defaultRoute(read(join(proc, "net/route")), read(join(proc, "net/ipv6_route")));
  return {
    route,
    kindOf,
    counters() {
      const outward = route()?.interface;
      return list(directory)
        .filter((name) => name === outward || isOutward(name))
        .flatMap((name) => readCounters(join(directory, name), name));
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
    isHardware: isHardware(path),
  };
}

function isHardware(path: string): boolean {
  return existsSync(join(path, "device"));
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
