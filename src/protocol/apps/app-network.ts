import { z } from "zod";
import type { RequestIssue } from "../errors/request-error.ts";

/*
 * Networks of an app. Apps without these fields share one network of the device. On a network, the name of an app is its
 * host name.
 */

const MAX_NETWORKS = 8;

const networkName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9_.-]{0,62}$/,
    "must be 1 to 63 lower-case letters, digits, '_', '.' or '-', beginning with a letter or digit",
  );

export const networks = z
  .array(networkName)
  .min(1, "must not be empty; leave the field out for the network that all apps share")
  .max(MAX_NETWORKS)
  .refine((names) => new Set(names).size === names.length, "a network appears twice")
  .meta({
    description:
      "Networks of this device that the app is on, in place of the one that all apps share. Only apps on the same network " +
      "reach each other; the name of an app is its host name there. A network exists as long as an app is on it.",
    examples: [["frontend", "backend"]],
  });

export const internalNetworks = z
  .array(networkName)
  .max(MAX_NETWORKS)
  .refine((names) => new Set(names).size === names.length, "a network appears twice")
  .meta({
    description:
      "Those of `networks` that lead nowhere else: apps on them reach each other, and nothing outside of the device. One of a " +
      "name here is another network than one of the same name without it.",
    examples: [["backend"]],
  });

/** Those that engines have by themselves: on them, apps would reach what no network of theirs leads to. */
const ENGINES_OWN = new Set(["bridge", "host", "none", "default", "podman"]);

/** Whether engines have a network of this name by themselves. */
export function isEnginesOwn(network: string): boolean {
  return ENGINES_OWN.has(network);
}

export const externalNetworks = z
  .array(networkName.refine((name) => !isEnginesOwn(name), "is one of the engine's own"))
  .max(MAX_NETWORKS)
  .refine((names) => new Set(names).size === names.length, "a network appears twice")
  .meta({
    description:
      "Those of `networks` that are the engine's of this name, which the agent neither makes nor removes, such as one of containers " +
      "that it does not manage. The device must allow each in `policy.external_networks.allow`.",
    examples: [["proxy"]],
  });

/** Before the name of the app whose network it is. */
const OF_APP = "app:";

export const network = z
  .string()
  .regex(/^(?:none|app:[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62})$/, "must be none, or app: and the name of an app")
  .meta({
    description:
      "`none`: the app has no network at all. `app:NAME`: it has the network of that app in place of one of its own, as a VPN: " +
      "its traffic goes where that app's goes, and nowhere while that one does not run. By default it is on the network that all " +
      "apps share.",
    examples: ["none", "app:vpn"],
  });

/** Returns the name of the app whose network an app has; `undefined` if it has none of another one. */
export function networkOwner({ network }: { readonly network?: string | undefined }): string | undefined {
  return network?.startsWith(OF_APP) ? network.slice(OF_APP.length) : undefined;
}

/** Returns the value of `network` by which an app has that of another one. */
export function networkOf(app: string): string {
  return `${OF_APP}${app}`;
}

const MAX_ALIASES = 16;

const alias = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$/,
    "must be 1 to 63 letters, digits, '_', '.' or '-', beginning with a letter or digit",
  );

export const aliases = z
  .array(alias)
  .max(MAX_ALIASES)
  .refine(
    (names) => new Set(names.map((name) => name.toLowerCase())).size === names.length,
    "a name appears twice, or twice but for its case",
  )
  .meta({
    description:
      "Further host names of the app on its networks, beside its own. None may be that of another app on one of them.",
    examples: [["broker"]],
  });

/** What decides which names an app has, and where. */
export interface NamedOnNetworks {
  readonly name: string;
  readonly aliases?: readonly string[] | undefined;
  readonly networks?: readonly string[] | undefined;
  readonly internal_networks?: readonly string[] | undefined;
  readonly external_networks?: readonly string[] | undefined;
  readonly network?: string | undefined;
  readonly host_network?: boolean | undefined;
}

/** Returns a host name that both apps have on a network that both are on, if one of them has it as an alias. */
export function sharedName(one: NamedOnNetworks, other: NamedOnNetworks): string | undefined {
  if (!areTogether(one, other)) return undefined;
  const names = new Set(namesOf(other).map((name) => name.toLowerCase()));
  // Two apps of one name are refused as that.
  const isSame = (name: string): boolean => name === one.name && name.toLowerCase() === other.name.toLowerCase();
  return namesOf(one).find((name) => names.has(name.toLowerCase()) && !isSame(name));
}

function namesOf({ name, aliases: further = [] }: NamedOnNetworks): string[] {
  return [name, ...further];
}

function areTogether(one: NamedOnNetworks, other: NamedOnNetworks): boolean {
  const [first, second] = [one, other].map(
    ({ networks: own, internal_networks: internal = [], external_networks: external = [], network, host_network }) => {
      const names = host_network || network !== undefined ? [] : (own ?? [""]);
      const kindOf = (name: string): string =>
        internal.includes(name) ? " (internal)" : external.includes(name) ? " (external)" : "";
      return names.map((name) => `${name}${kindOf(name)}`);
    },
  );
  return first?.some((network) => second?.includes(network)) ?? false;
}

interface NetworkFields {
  readonly name?: string;
  readonly host_network?: boolean | undefined;
  readonly ports?: readonly unknown[] | undefined;
  readonly networks?: readonly string[] | undefined;
  readonly internal_networks?: readonly string[] | undefined;
  readonly external_networks?: readonly string[] | undefined;
  readonly network?: string | undefined;
  readonly aliases?: readonly string[] | undefined;
  readonly hostname?: string | undefined;
  readonly dns?: readonly unknown[] | undefined;
  readonly dns_search?: readonly unknown[] | undefined;
  readonly dns_options?: readonly unknown[] | undefined;
  readonly extra_hosts?: readonly unknown[] | undefined;
}

/** Returns what contradicts itself in an app's network fields. */
export function networkIssues(fields: NetworkFields): RequestIssue[] {
  const { host_network, ports = [], networks, network, aliases: names = [] } = fields;
  const issues: RequestIssue[] = [];
  const { internal_networks: internal = [], external_networks: external = [] } = fields;
  for (const [path, listed] of Object.entries({ internal_networks: internal, external_networks: external })) {
    const stray = listed.find((name) => !networks?.includes(name));
    if (stray !== undefined) issues.push({ path, reason: `${stray} is not in networks` });
  }
  const both = external.find((name) => internal.includes(name));
  if (both !== undefined)
    issues.push({ path: "internal_networks", reason: `${both} is external: it leads where the engine has it lead` });
  if (networks && network) issues.push({ path: "networks", reason: `cannot be combined with network \`${network}\`` });
  if (networks && host_network) issues.push({ path: "networks", reason: "cannot be combined with host_network" });
  if (network && host_network)
    issues.push({ path: "network", reason: `\`${network}\` cannot be combined with host_network` });
  if (names.length > 0 && (network || host_network))
    issues.push({ path: "aliases", reason: "an app without networks of its own has no names there" });
  if (network === "none" && ports.length > 0)
    issues.push({ path: "ports", reason: "an app with network `none` cannot be reached on ports" });
  return [...issues, ...sharingIssues(fields)];
}

/** Engines refuse these when the container is created: they are set where the network is. */
function sharingIssues(fields: NetworkFields): RequestIssue[] {
  const owner = networkOwner(fields);
  if (owner === undefined) return [];
  const { name, ports = [], hostname, extra_hosts = [], dns = [], dns_search = [], dns_options = [] } = fields;
  const lists = Object.entries({ dns, dns_search, dns_options, extra_hosts });
  const reason = `belongs to the app ${owner}, whose network this app has`;
  return [
    ...(owner === name ? [{ path: "network", reason: "names the app itself" }] : []),
    ...(ports.length > 0
      ? [{ path: "ports", reason: `must be published by the app ${owner}, whose network it is` }]
      : []),
    ...(hostname === undefined ? [] : [{ path: "hostname", reason }]),
    ...lists.filter(([, list]) => list.length > 0).map(([path]) => ({ path, reason })),
  ];
}

interface ReachableFields extends Pick<NetworkFields, "host_network" | "aliases" | "network"> {
  readonly name: string;
  readonly project?: string | undefined;
  readonly ports?: readonly { readonly target_port: number; readonly protocol?: string | undefined }[] | undefined;
}

/**
 * Returns under what the other apps on its networks reach an app, such as `mosquitto:1883`: its name with each port that
 * is known, or alone if none is. Empty for an app on the host's network, on none, or on that of another app.
 */
export function reachedAs(app: ReachableFields): string[] {
  const { host_network, ports = [], network } = app;
  if (host_network || network !== undefined) return [];
  const host = hostNameOf(app);
  const addresses = ports.map(({ target_port, protocol = "tcp" }) => {
    return `${host}:${target_port}${protocol === "tcp" ? "" : `/${protocol}`}`;
  });
  return addresses.length > 0 ? [...new Set(addresses)] : [host];
}

/** An app of a service is found by the service's name, which is the app's without its project. */
function hostNameOf({ name, project, aliases: names = [] }: ReachableFields): string {
  const service = project !== undefined && name.startsWith(`${project}.`) ? name.slice(project.length + 1) : undefined;
  return service !== undefined && names.includes(service) ? service : name;
}
