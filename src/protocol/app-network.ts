import { z } from "zod";
import type { RequestIssue } from "./request-error.ts";

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

export const network = z.enum(["none"]).meta({
  description: "`none`: the app has no network at all. By default it is on the network that all apps share.",
});

interface NetworkFields {
  readonly host_network?: boolean | undefined;
  readonly ports?: readonly unknown[] | undefined;
  readonly networks?: readonly string[] | undefined;
  readonly network?: "none" | undefined;
}

/** Returns what contradicts itself in an app's network fields. */
export function networkIssues({ host_network, ports = [], networks, network }: NetworkFields): RequestIssue[] {
  const issues: RequestIssue[] = [];
  if (networks && network) issues.push({ path: "networks", reason: "cannot be combined with network `none`" });
  if (networks && host_network) issues.push({ path: "networks", reason: "cannot be combined with host_network" });
  if (network && host_network) issues.push({ path: "network", reason: "`none` cannot be combined with host_network" });
  if (network && ports.length > 0)
    issues.push({ path: "ports", reason: "an app with network `none` cannot be reached on ports" });
  return issues;
}

interface ReachableFields extends Omit<NetworkFields, "ports" | "networks" | "network"> {
  readonly name: string;
  readonly ports?: readonly { readonly target_port: number; readonly protocol?: string | undefined }[] | undefined;
  readonly network?: string | undefined;
}

/**
 * Returns under what the other apps on its networks reach an app, such as `mosquitto:1883`: its name with each port that
 * is known, or alone if none is. Empty for an app on the host's network or on none.
 */
export function reachedAs({ name, host_network, ports = [], network }: ReachableFields): string[] {
  if (host_network || network === "none") return [];
  const addresses = ports.map(({ target_port, protocol = "tcp" }) => {
    return `${name}:${target_port}${protocol === "tcp" ? "" : `/${protocol}`}`;
  });
  return addresses.length > 0 ? [...new Set(addresses)] : [name];
}
