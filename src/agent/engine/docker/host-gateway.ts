import type Docker from "dockerode";
import type { ContainerCreateOptions } from "dockerode";
import { HOST_GATEWAY } from "../../../protocol/apps/container-names.ts";
import { getJson } from "./get.ts";

/** Podman's network for containers that name none. */
const DEFAULT_NETWORK = "podman";

const LOOPBACK = "127.0.0.1";

interface Network {
  readonly IPAM?: { readonly Config?: readonly { readonly Gateway?: string }[] | null } | null;
}

/**
 * Replaces `host-gateway` by the address at which the app's network reaches the device. Docker does so itself; Podman
 * before 4.7 refuses the word, and later ones write an address that not every network reaches.
 */
export async function resolveHostGateway(
  docker: Docker,
  options: ContainerCreateOptions,
  abortSignal: AbortSignal,
): Promise<ContainerCreateOptions> {
  const suffix = `:${HOST_GATEWAY}`;
  const hosts = options.HostConfig?.ExtraHosts as readonly string[] | undefined;
  if (!hosts?.some((entry) => entry.endsWith(suffix))) return options;
  const address = await gatewayOf(docker, options.HostConfig?.NetworkMode ?? DEFAULT_NETWORK, abortSignal);
  const ExtraHosts = hosts.map((entry) =>
    entry.endsWith(suffix) ? `${entry.slice(0, -suffix.length)}:${address}` : entry,
  );
  return { ...options, HostConfig: { ...options.HostConfig, ExtraHosts } };
}

async function gatewayOf(docker: Docker, network: string, abortSignal: AbortSignal): Promise<string> {
  if (network === "host" || network === "none") return LOOPBACK;
  const path = `/networks/${encodeURIComponent(network)}`;
  const { IPAM: settings } = await getJson<Network>(docker, path, abortSignal);
  const gateways = (settings?.Config ?? []).flatMap(({ Gateway }) => Gateway ?? []);
  return gateways.find((gateway) => !gateway.includes(":")) ?? gateways[0] ?? LOOPBACK;
}
