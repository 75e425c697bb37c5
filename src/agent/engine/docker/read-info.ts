import type Docker from "dockerode";
import type { EngineInfo } from "../engine.ts";
import { getHeaders, getJson } from "./get.ts";
import { requireFields } from "./shape.ts";

interface Version {
  readonly Version: string;
  readonly ApiVersion: string;
  readonly Os: string;
  readonly Arch: string;
  readonly Components?: readonly { readonly Name: string }[];
}

/** Of Docker's own image store: `MaxLayerDepth` in its source. */
const MAX_LAYERS = 125;
/** Docker's status of containerd's image store, which has no such limit. */
const CONTAINERD = "io.containerd.snapshotter.v1";

interface Info {
  readonly DriverStatus?: readonly (readonly string[])[] | null;
  readonly DockerRootDir?: string;
  readonly MemoryLimit?: boolean;
  readonly SwapLimit?: boolean;
  readonly CpuCfsQuota?: boolean;
  /** Spelling of some versions of Podman. */
  readonly CPUCfsQuota?: boolean;
  /** Only of Podman. */
  readonly Rootless?: boolean;
  readonly SecurityOptions?: readonly string[] | null;
  readonly Runtimes?: Readonly<Record<string, unknown>> | null;
  readonly RegistryConfig?: {
    readonly InsecureRegistryCIDRs?: readonly string[] | null;
    readonly IndexConfigs?: Readonly<Record<string, { readonly Name?: string; readonly Secure?: boolean }>> | null;
  } | null;
}

/** Of Podman's own interface. */
interface PodmanInfo {
  readonly host?: { readonly cgroupControllers?: readonly string[] | null };
}

/** Reads version and properties of the engine. */
export async function readInfo(docker: Docker, abortSignal: AbortSignal): Promise<EngineInfo> {
  const [version, info] = await Promise.all([
    readVersion(docker, abortSignal),
    getJson<Info>(docker, "/info", abortSignal),
  ]);
  const kind = kindOf(version);
  const isRootless =
    info.Rootless ?? info.SecurityOptions?.some((option) => option.startsWith("name=rootless")) ?? false;
  return {
    kind,
    version: version.Version,
    apiVersion: version.ApiVersion,
    os: version.Os,
    architecture: version.Arch,
    insecureRegistries: insecureRegistries(info),
    dataRoot: info.DockerRootDir ?? "",
    limits:
      kind === "podman" && isRootless
        ? await delegatedLimits(docker, abortSignal)
        : {
            memory: info.MemoryLimit ?? true,
            cpu: info.CpuCfsQuota ?? info.CPUCfsQuota ?? true,
            swap: info.SwapLimit ?? true,
          },
    ...(kind === "docker" && !isContainerdStore(info) && { maxLayers: MAX_LAYERS }),
    // The runtime is added by NVIDIA's Container Toolkit. Podman leaves a request for GPUs out without a word.
    gpus: kind === "docker" && Object.hasOwn(info.Runtimes ?? {}, "nvidia"),
    isRootless,
    volumeSubpaths: hasVolumeSubpaths({ kind, apiVersion: version.ApiVersion }),
  };
}

/** Version of Docker's interface that has them first: that of Docker 26. */
const SUBPATHS_SINCE = { major: 1, minor: 45 };

/** Whether an engine can mount a directory of a volume in place of the volume. */
export function hasVolumeSubpaths({ kind, apiVersion }: Pick<EngineInfo, "kind" | "apiVersion">): boolean {
  const [major = 0, minor = 0] = apiVersion.split(".").map(Number);
  const isSince = major > SUBPATHS_SINCE.major || (major === SUBPATHS_SINCE.major && minor >= SUBPATHS_SINCE.minor);
  return kind === "docker" && isSince;
}

/** Reads the version of the engine as it is now. */
export async function readEngineVersion(
  docker: Docker,
  abortSignal: AbortSignal,
): Promise<Pick<EngineInfo, "kind" | "version" | "apiVersion">> {
  const version = await readVersion(docker, abortSignal);
  return { kind: kindOf(version), version: version.Version, apiVersion: version.ApiVersion };
}

/**
 * Returns which limits a rootless Podman can set: those of the control groups that its user was given. Its Docker-compatible
 * interface tells what the kernel has, and Podman leaves a limit out without a word.
 */
async function delegatedLimits(docker: Docker, abortSignal: AbortSignal): Promise<EngineInfo["limits"]> {
  const { host } = await getJson<PodmanInfo>(docker, "/v4.0.0/libpod/info", abortSignal);
  const controllers = host?.cgroupControllers ?? [];
  return { memory: controllers.includes("memory"), cpu: controllers.includes("cpu") };
}

function isContainerdStore({ DriverStatus }: Info): boolean {
  return (DriverStatus ?? []).some(([, value]) => value === CONTAINERD);
}

function insecureRegistries({ RegistryConfig: config }: Info): string[] {
  const named = Object.values(config?.IndexConfigs ?? {}).filter(({ Secure }) => Secure === false);
  return [...named.flatMap(({ Name }) => Name ?? []), ...(config?.InsecureRegistryCIDRs ?? [])];
}

/** The `Server` header of both engines, such as `Docker/20.10.24 (linux)` and `Libpod/4.3.1 (linux)`. */
const SIGNATURE = /^(Docker|Libpod)\/(\S+)/;

/** Reads kind and version of the engine by its cheapest call. */
export async function identify(
  docker: Docker,
  abortSignal: AbortSignal,
): Promise<Pick<EngineInfo, "kind" | "version">> {
  const { server } = await getHeaders(docker, "/_ping", abortSignal);
  const [, name, version] = SIGNATURE.exec(String(server)) ?? [];
  if (version !== undefined) return { kind: name === "Libpod" ? "podman" : "docker", version };
  const info = await readVersion(docker, abortSignal);
  return { kind: kindOf(info), version: info.Version };
}

async function readVersion(docker: Docker, abortSignal: AbortSignal): Promise<Version> {
  const version = await getJson<Version>(docker, "/version", abortSignal);
  return requireFields(version, { Version: "", ApiVersion: "", Os: "", Arch: "" });
}

function kindOf({ Components }: Version): EngineInfo["kind"] {
  return Components?.some(({ Name }) => Name === "Podman Engine") ? "podman" : "docker";
}
