import { createSocket } from "node:dgram";
import type { ContainerInspectInfo } from "dockerode";
import type { ContainerAddress } from "../container-access.ts";

/**
 * Returns where a TCP port of a container may be reached from this machine: only where nothing but the container can
 * answer while it runs. Its own address may also be that of a machine of the site: it is used where the kernel sends
 * packets for it over the container's own network.
 *
 * @param isRootless whether the engine's networks are in a namespace of its user, where this machine does not reach them
 */
export async function containerAddresses(
  info: ContainerInspectInfo,
  port: number,
  isRootless: boolean,
): Promise<ContainerAddress[]> {
  if (!info.State.Running) return [];
  if (info.HostConfig.NetworkMode === "host") return [{ host: "127.0.0.1", port, isOwn: true }];
  const own = new Map(
    Object.values(info.NetworkSettings.Networks ?? {}).map(({ IPAddress, Gateway }) => [IPAddress, Gateway]),
  );
  const addresses: ContainerAddress[] = [];
  for (const [host, gateway] of isRootless ? [] : own)
    if (host && gateway && (await sourceOf(host)) === gateway) addresses.push({ host, port, isOwn: true });
  const published = info.NetworkSettings.Ports?.[`${port}/tcp`] ?? [];
  return [
    ...addresses,
    ...published.slice(0, 1).map(({ HostIp, HostPort }) => ({
      host: HostIp === "" || HostIp === "0.0.0.0" || HostIp === "::" ? "127.0.0.1" : HostIp,
      port: Number(HostPort),
      isOwn: false,
    })),
  ];
}

/** Any: no packet is sent. */
const PORT = 9;

/**
 * Returns the address from which the kernel would send to a host, by all its routes; `undefined` without a route. That of
 * a network's gateway is on the network's bridge, if the network is one of this machine.
 */
async function sourceOf(host: string): Promise<string | undefined> {
  const socket = createSocket(host.includes(":") ? "udp6" : "udp4");
  try {
    return await new Promise((resolve, reject) => {
      socket.once("error", reject);
      socket.connect(PORT, host, () => resolve(socket.address().address));
    });
  } catch {
    return undefined;
  } finally {
    socket.close();
  }
}
