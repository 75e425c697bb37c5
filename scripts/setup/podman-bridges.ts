import { existsSync, readdirSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { logSetup } from "./errors.ts";

/*
 * Podman's default network is 10.88.0.0/16 with either of its network programs, each with a bridge of its own. Where a
 * machine has used the older one (CNI) and then gets netavark, it has two bridges with one range: the kernel sends every
 * packet for a container to the bridge that was there first, and no published port can be reached (EHOSTUNREACH).
 */

const OLD_BRIDGE = "cni-podman0";
const DEFAULT_RANGE = "10.88.";

/** The machine as this file sees and changes it. */
export interface Bridges {
  /** IPv4 addresses with their prefix lengths, by interface. */
  addresses(): readonly { readonly name: string; readonly address: string }[];
  /** How many interfaces, such as those of containers, are attached to a bridge. */
  attached(bridge: string): number;
  remove(bridge: string): boolean;
}

/**
 * Handles the bridge that CNI left behind: removes it if nothing is attached to it and this run has installed netavark,
 * and otherwise says what it does to Podman's ports.
 */
export function clearOldBridge(hasInstalledNetavark: boolean, bridges: Bridges, log = logSetup): void {
  const old = bridges.addresses().find(({ name, address }) => name === OLD_BRIDGE && address.startsWith(DEFAULT_RANGE));
  if (!old) return;
  const what = `the bridge ${OLD_BRIDGE} of Podman's former network program has the addresses of Podman's default network (${old.address})`;
  const attached = bridges.attached(OLD_BRIDGE);
  const isRival = bridges
    .addresses()
    .some(({ name, address }) => name !== OLD_BRIDGE && address.startsWith(DEFAULT_RANGE));
  if (attached > 0) {
    if (hasInstalledNetavark || isRival)
      log(
        `${what}, and ${attached} ${attached === 1 ? "interface is" : "interfaces are"} on it: stop those containers, then remove it: ip link delete ${OLD_BRIDGE}`,
      );
    return;
  }
  if (hasInstalledNetavark && bridges.remove(OLD_BRIDGE)) log(`${what}; nothing is on it, so it is removed`);
  else if (hasInstalledNetavark || isRival)
    log(`${what}: ports of Podman's containers cannot be reached. Remove it: ip link delete ${OLD_BRIDGE}`);
}

export const machineBridges: Bridges = {
  addresses() {
    if (!existsSync(`/sys/class/net/${OLD_BRIDGE}`)) return [];
    const { stdout, status } = spawnSync("ip", ["-brief", "-4", "address"], { encoding: "utf8" });
    if (status !== 0) return [];
    return stdout.split("\n").flatMap((line) => {
      const [name = "", , ...addresses] = line.split(/\s+/);
      return addresses.filter(Boolean).map((address) => ({ name: name.replace(/@.*/, ""), address }));
    });
  },
  attached(bridge) {
    const directory = `/sys/class/net/${bridge}/brif`;
    return existsSync(directory) ? readdirSync(directory).length : 0;
  },
  remove: (bridge) => spawnSync("ip", ["link", "delete", bridge]).status === 0,
};
