import type Docker from "dockerode";
import type { ContainerInspectInfo } from "dockerode";
import type { ContainerConfig } from "../engine.ts";
import { protocolOf } from "./container-mapping.ts";
import { namedReference } from "./engine-reference.ts";
import { findContainer } from "./find-container.ts";
import { getJson } from "./get.ts";
import { unlessStatus } from "./unless-status.ts";

/** Podman sets it in every container, and Docker in none. */
const PODMAN_MARK = "container=podman";

/** Variables Podman adds to every container. */
const PODMAN_ENVIRONMENT = [PODMAN_MARK, "TERM=xterm", "HOME=/root"];

/** Variables and labels of an image, which the engine also lists for the container. */
interface ImageDefaults {
  readonly environment: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Reads the values that `createOptions` set from an inspected container.
 *
 * @param image `undefined` if unknown
 */
function toContainerConfig(info: ContainerInspectInfo, image: ImageDefaults | undefined): ContainerConfig {
  const { HostConfig: host, Config: config } = info;
  const isPodman = config.Env?.includes(PODMAN_MARK) ?? false;
  const added = new Set([
    ...(image?.environment ?? []),
    ...(isPodman ? [...PODMAN_ENVIRONMENT, `HOSTNAME=${config.Hostname}`] : []),
  ]);
  return {
    image: namedReference(config.Image),
    imageId: info.Image,
    imageLabels: image?.labels,
    environment: (config.Env ?? []).filter((entry) => !added.has(entry)),
    ports: ports(host.PortBindings as Bindings),
    volumes: [...binds(host.Binds ?? []), ...mounts(host.Mounts ?? [])],
    hostNetwork: host.NetworkMode === "host",
    privileged: host.Privileged ?? false,
  };
}

interface Binding {
  readonly HostPort?: string;
  readonly HostIp?: string;
}

type Bindings = Readonly<Record<string, readonly Binding[] | null>> | null | undefined;

function ports(bindings: Bindings): ContainerConfig["ports"] {
  return Object.entries(bindings ?? {}).flatMap(([target, list]) =>
    (list ?? []).map((binding) => port(binding, target)),
  );
}

function port({ HostPort, HostIp = "" }: Binding, target: string): ContainerConfig["ports"][number] {
  return {
    hostPort: Number(HostPort),
    targetPort: Number.parseInt(target, 10),
    ...(protocolOf(target) === "udp" && { protocol: "udp" }),
    // Podman writes that of all addresses, where Docker writes none.
    ...(!/^[0:.]*$/.test(HostIp) && { hostAddress: HostIp }),
  };
}

/**
 * Parses `local:target[:options]`. Paths with a colon do not occur: `createOptions` makes them mounts. Podman also
 * lists the image's volumes, by name.
 */
function binds(entries: readonly string[]): ContainerConfig["volumes"] {
  const paths = entries.filter((entry) => entry.startsWith("/"));
  return paths.map((entry) => {
    const [local = "", target = "", options = ""] = entry.split(":");
    return { local, target, readonly: options.split(",").includes("ro") };
  });
}

function mounts(entries: NonNullable<ContainerInspectInfo["HostConfig"]["Mounts"]>): ContainerConfig["volumes"] {
  return entries
    .filter(({ Type }) => Type === "bind")
    .map(({ Source, Target, ReadOnly }) => ({ local: Source, target: Target, readonly: ReadOnly ?? false }));
}

interface InspectedImage {
  readonly Config?: {
    readonly Env?: string[] | null;
    readonly Labels?: Readonly<Record<string, string>> | null;
  } | null;
}

/** Returns what a container was created from; `undefined` if there is no such container. */
export async function readContainerConfig(
  docker: Docker,
  idOrName: string,
  abortSignal: AbortSignal,
): Promise<ContainerConfig | undefined> {
  const info = await findContainer(docker, idOrName, abortSignal);
  if (!info) return undefined;
  const path = `/images/${encodeURIComponent(info.Image)}/json`;
  const image = await unlessStatus(404, getJson<InspectedImage>(docker, path, abortSignal));
  return toContainerConfig(info, image && { environment: image.Config?.Env ?? [], labels: image.Config?.Labels ?? {} });
}
