import type { AppSpec } from "../../../protocol/apps/app-spec.ts";

/** Name of a network in a specification; empty for the one that apps share. */
export const NETWORK_LABEL = "io.edge-agent.network";

const SHARED = "";

/** A network of the engine that an app is on. */
export interface AppNetwork {
  /** As in a specification; empty for the one that apps share. */
  readonly network: string;
  /** Of the engine's object. */
  readonly name: string;
  /** Whether it leads nowhere else. */
  readonly isInternal: boolean;
  /** Whether the agent neither makes nor removes it. */
  readonly isExternal: boolean;
}

/**
 * Returns the networks an app is to be on; none where it uses the host's network, that of another app, or none at all. The first one gives the
 * container its published ports, which an internal one cannot.
 *
 * @param prefix distinguishes the networks of this agent: see `enginePrefix`
 */
export function networksOf(
  { host_network, networks, internal_networks: internal = [], external_networks: external = [], network }: NetworkSpec,
  prefix: string,
): readonly AppNetwork[] {
  if (host_network || network !== undefined) return [];
  if (!networks) return [{ network: SHARED, name: prefix, isInternal: false, isExternal: false }];
  const all = networks.map((own) => {
    const isInternal = internal.includes(own);
    if (external.includes(own)) return { network: own, name: own, isInternal, isExternal: true };
    // An engine cannot change a network, so the two kinds are apart.
    return { network: own, name: `${prefix}${isInternal ? "-internal" : ""}.${own}`, isInternal, isExternal: false };
  });
  return [...all.filter(({ isInternal }) => !isInternal), ...all.filter(({ isInternal }) => isInternal)];
}

type NetworkSpec = Pick<AppSpec, "host_network" | "networks" | "internal_networks" | "external_networks" | "network">;

/**
 * Returns the names of networks that a container lacks.
 *
 * @param attached names of those it is on; `undefined` if it cannot join any, such as one on the host's network
 */
export function missingNetworks(wanted: readonly AppNetwork[], attached: readonly string[] | undefined): string[] {
  if (!attached) return [];
  return wanted.map(({ name }) => name).filter((name) => !attached.includes(name));
}
