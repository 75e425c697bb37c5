import { canonicalOptions } from "../../../protocol/apps/canonical-options.ts";
import { normalizePath } from "../../../protocol/values/normalize-path.ts";
import { VERSION_SUFFIXES } from "../../../protocol/apps/app-fields.ts";
import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import { bindsOf } from "../../../protocol/apps/volume-fields.ts";
import { volumeExtras } from "./volume-extras.ts";

/**
 * Labels by which the agent recognizes its containers. A container inherits its image's labels, so each label is set at
 * every creation, even to an empty value. Earlier releases omitted `extras` and `previousImage` if empty, and had no
 * `secretVariables`.
 */
export const LABELS = {
  app: "io.edge-agent.app",
  deployment: "io.edge-agent.deployment",
  specHash: "io.edge-agent.spec-hash",
  /** State directory of the agent that created it: several agents may share an engine, as on a test machine. */
  stateDir: "io.edge-agent.state-dir",
  /** Optional fields of the specification that engines do not return unchanged, as JSON; `{}` if there are none. */
  extras: "io.edge-agent.extras",
  /** The variables that are declared secret, as JSON: see `toSecretsLabel`. `[]` if there are none. */
  secretVariables: "io.edge-agent.secret-variables",
  /** The requested image reference: the container may have been created from the image's id. */
  image: "io.edge-agent.image",
  /** Id of the container of another app whose network it has; empty if it has none of another one. */
  networkOf: "io.edge-agent.network-of",
  /** Id of the image an update replaced; empty if there was none. */
  previousImage: "io.edge-agent.previous-image",
} as const;

/** Returns the name of an app's container: the app's name, extended if it has one character, which engines reject. */
export function containerName(app: string): string {
  return app.length === 1 ? `${app}-app` : app;
}

/** Returns the name of a new version's container until the switch. No app can be deployed under this name. */
export function newVersionName(app: string): string {
  return `${containerName(app)}${VERSION_SUFFIXES.new}`;
}

/** Returns the name of the old version's container until the new one is verified. */
export function oldVersionName(app: string): string {
  return `${containerName(app)}${VERSION_SUFFIXES.old}`;
}

/**
 * Returns the name of a container that the engine cannot remove: it must not stand in the way of the app's next one. No
 * app can be deployed under this name.
 */
export function leftoverName(app: string, containerId: string): string {
  return `${containerName(app)}.${containerId.slice(0, 12)}${VERSION_SUFFIXES.left}`;
}

/** Whether the name is one that `leftoverName` gives. */
export function hasLeftoverName(name: string, app: string): boolean {
  return name.startsWith(`${containerName(app)}.`) && name.endsWith(VERSION_SUFFIXES.left);
}

/** Whether the agent gives this name to containers of the app. */
export function hasAgentGivenName(name: string, app: string): boolean {
  return name === containerName(app) || hasTemporaryName(name, app) || hasLeftoverName(name, app);
}

/** Whether the name is one an update gives temporarily. Names given by people are left alone. */
export function hasTemporaryName(name: string, app: string): boolean {
  return name === newVersionName(app) || name === oldVersionName(app);
}

/** Returns the same text for equivalent specifications. Hashed for the `spec-hash` label. */
export function canonicalSpec(spec: AppSpec): string {
  return JSON.stringify([
    spec.name,
    spec.image,
    spec.host_network,
    spec.privileged,
    spec.environments.map(({ key, value, secret, secret_parts: parts = [] }) => [
      key,
      value,
      ...(secret ? [true] : []),
      ...(parts.length > 0 ? [parts] : []),
    ]),
    spec.ports.map(({ host_port, target_port, protocol, host_address }) => [
      host_port,
      target_port,
      ...(protocol === "udp" ? [protocol] : []),
      ...(host_address === undefined ? [] : [host_address]),
    ]),
    bindsOf(spec).map(({ local, target, readonly }) => [normalizePath(local), normalizePath(target), readonly]),
    // Left out if empty, so that the text stays the same as in releases without extras.
    ...(hasExtras(spec) ? [extrasOf(spec)] : []),
  ]);
}

/** Returns the optional fields that differ from their defaults, in fixed order, for the `extras` label. */
export function extrasOf(spec: AppSpec): Partial<AppSpec> {
  const { command, cpu_limit, memory_limit, devices = [], healthcheck, restart_policy, pull, health_timeout_s } = spec;
  const { networks, internal_networks = [], external_networks = [], network, aliases = [], project, files = [] } = spec;
  return {
    ...(command && { command }),
    ...(cpu_limit !== undefined && { cpu_limit }),
    ...(memory_limit !== undefined && { memory_limit }),
    ...(devices.length > 0 && { devices: devices.map(canonicalDevice) }),
    ...(healthcheck && { healthcheck: canonicalHealthcheck(healthcheck) }),
    ...(restart_policy !== undefined && restart_policy !== "unless-stopped" && { restart_policy }),
    ...(pull !== undefined && { pull }),
    ...(health_timeout_s !== undefined && { health_timeout_s }),
    ...canonicalOptions(spec),
    ...(project !== undefined && { project }),
    ...(networks && { networks }),
    ...(internal_networks.length > 0 && { internal_networks: internal_networks.toSorted() }),
    ...(external_networks.length > 0 && { external_networks: external_networks.toSorted() }),
    ...(network && { network }),
    ...(aliases.length > 0 && { aliases }),
    ...volumeExtras(spec),
    ...(files.length > 0 && { files: files.map(canonicalFile) }),
  };
}

/** Whether an optional field of the specification differs from its default. */
export function hasExtras(spec: AppSpec): boolean {
  return Object.keys(extrasOf(spec)).length > 0;
}

type Device = NonNullable<AppSpec["devices"]>[number];
type Healthcheck = NonNullable<AppSpec["healthcheck"]>;
type File = NonNullable<AppSpec["files"]>[number];

function canonicalDevice({ local, target = local, permissions = "rwm" }: Device): Device {
  const inOrder = ["r", "w", "m"].filter((letter) => permissions.includes(letter)).join("");
  return { local: normalizePath(local), target: normalizePath(target), permissions: inOrder };
}

function canonicalHealthcheck(check: Healthcheck): Healthcheck {
  const { command, interval_s, timeout_s, retries, start_period_s } = check;
  return { command, interval_s, timeout_s, retries, start_period_s };
}

function canonicalFile({ target, size, sha256, secret_id, mode, owner, secret, directory }: File): File {
  return {
    target,
    size,
    ...(sha256 !== undefined && { sha256 }),
    ...(secret_id !== undefined && { secret_id }),
    mode,
    ...(owner !== undefined && { owner }),
    ...(secret !== undefined && { secret }),
    ...(directory === true && { directory }),
  };
}
