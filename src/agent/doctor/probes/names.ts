import { readFile } from "node:fs/promises";
import { LABELS } from "../../core/app/container.ts";
import { settingsOf, good, type Probe, warning } from "../probe.ts";

/** Apps find each other by name on the networks that there are. Before the first app there is none to look at. */
export const probeNames: Probe = async (context, signal) => {
  const { networks } = context.engine;
  const { state_dir: stateDir } = settingsOf(context);
  const [network] = await networks.list(`${LABELS.stateDir}=${stateDir}`, signal);
  if (!network) return good("No app is on a network yet.");
  const state = await networks.inspect(network.name, signal);
  if (state?.resolvesNames === false)
    return warning(
      "Podman has no name service: apps do not find each other by name.",
      "Install netavark and aardvark-dns, and have Podman use them: see docs/install.md.",
    );
  if (state?.bridge !== undefined && (await changesSilently(state.bridge)))
    return warning(
      `The hardware address of Podman's bridge ${state.bridge} changes when apps start and stop, and other apps lose names and network for up to a minute.`,
      "Update netavark to 1.9 or newer, or set net.ipv4.conf.all.arp_notify=1 in /etc/sysctl.d: see docs/install.md.",
    );
  return good("Apps find each other by name.");
};

/** Kernel: `NET_ADDR_SET`. Any other bridge has the lowest address of what is attached to it. */
const ASSIGNED = "3";

/**
 * Whether a bridge changes its hardware address with what is attached to it, and the kernel does not announce that. Then
 * containers send to the former address until their ARP entry expires. netavark assigns an address from 1.9 on; see
 * https://github.com/containers/netavark/pull/833.
 */
async function changesSilently(bridge: string): Promise<boolean> {
  // Without a container there may be no bridge yet; a rootless Podman's is in a network namespace of its own.
  const assignment = await read(`/sys/class/net/${bridge}/addr_assign_type`);
  if (assignment === undefined || assignment === ASSIGNED) return false;
  const announces = await Promise.all(
    ["all", bridge].map((name) => read(`/proc/sys/net/ipv4/conf/${name}/arp_notify`)),
  );
  return announces.every((value) => value === "0");
}

async function read(path: string): Promise<string | undefined> {
  // Absent on other kernels and systems.
  return (await readFile(path, "utf8").catch(() => undefined))?.trim();
}
