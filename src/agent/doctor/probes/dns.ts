import { lookup } from "node:dns/promises";
import { accessSync, constants } from "node:fs";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { networkInterfaces, userInfo } from "node:os";
import { explainNetworkError } from "../../core/net/network-error.ts";
import { isLoopback } from "../../core/net/hostname.ts";
import { firstEndpoint } from "../../net/endpoint.ts";
import { bad, good, type Probe, settingsOf } from "../probe.ts";
import { describeMissingRoute } from "../route.ts";

const MAX_SHOWN = 3;
/** What a look-up reads; one that is not there tells nothing. */
const READ_FIRST = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"];

/** The first host of the route, control plane or proxy, can be looked up. */
export const probeDns: Probe = async (context, signal) => {
  const { host, isProxy } = firstEndpoint(settingsOf(context).control_plane_url);
  const what = isProxy ? `the proxy ${host}` : host;
  if (isIP(host) !== 0) return good(`Not needed: ${what} is an address.`);
  const setting = isProxy ? "https_proxy" : "control_plane_url";
  try {
    const addresses = (await Promise.race([lookup(host, { all: true }), aborted(signal)])).map(
      (found) => found.address,
    );
    const text = `${what} is ${addresses.slice(0, MAX_SHOWN).join(", ")}`;
    if (addresses.length > 0 && addresses.every((address) => isIP(address) === 6 && !isLoopback(address)) && !hasIpv6())
      return bad(
        `${text}: IPv6 addresses only, and this device has none of its own.`,
        `Have an IPv4 address (A record) added for ${host}, or turn IPv6 on: sudo sysctl -w net.ipv6.conf.all.disable_ipv6=0`,
      );
    return good(`${text}.`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const unreadable = READ_FIRST.find(isForbidden);
    if (unreadable !== undefined)
      return bad(
        `${what} cannot be looked up: ${userInfo().username} may not read ${unreadable}.`,
        `sudo chmod 644 ${unreadable}`,
      );
    const routeless = describeMissingRoute(`${what} cannot be looked up`);
    if (routeless) return routeless;
    const servers = await nameServers();
    if (!signal.aborted && code !== "EAI_AGAIN")
      return bad(
        `${what} cannot be looked up: ${explainNetworkError(error, context.clock.timeOfDay())}.`,
        `Check the name in ${setting}, and the name servers in /etc/resolv.conf${listed(servers)}.`,
      );
    if (servers.length === 0)
      return bad(
        "There is no name server in /etc/resolv.conf.",
        "Have the network set one: resolvectl status, or nmcli",
      );
    return bad(
      `The name server${servers.length > 1 ? "s" : ""} ${servers.join(", ")} ${servers.length > 1 ? "do" : "does"} not answer about ${what}.`,
      `Check the name servers in /etc/resolv.conf, and whether a firewall drops UDP port 53: ping ${servers[0]}; resolvectl status`,
    );
  }
};

function isForbidden(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EACCES";
  }
}

async function nameServers(): Promise<string[]> {
  // Without the file there is no name server, which is what is said then.
  const text = await readFile("/etc/resolv.conf", "utf8").catch(() => "");
  return [...text.matchAll(/^\s*nameserver\s+(\S+)/gm)].map(([, server = ""]) => server).slice(0, MAX_SHOWN);
}

function listed(servers: readonly string[]): string {
  return servers.length > 0 ? ` (${servers.join(", ")})` : "";
}

/** Whether an interface has an address that leads off its own network. */
function hasIpv6(): boolean {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return all.some(({ family, address, internal }) => family === "IPv6" && !internal && !/^fe[89ab]/i.test(address));
}

/** A look-up cannot be aborted, and waits longer than a probe may. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) =>
    signal.addEventListener("abort", () => reject(new Error("no answer")), { once: true }),
  );
}
