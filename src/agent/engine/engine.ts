import type { ContainerSnapshot, ContainerStatus, HealthcheckTimes, RunEnd } from "../core/app/container-status.ts";
import type { RestartPolicy } from "../core/app/restart-policy.ts";
import type { ContainerUsage } from "../core/app/usage-between.ts";
import type { HostPort } from "../core/host/host-port.ts";
import type { RegistryAuth } from "../registry/registry.ts";
import type { ContainerOptions } from "../../protocol/apps/container-options.ts";
import type { DirectoryRequest, ExportRequest, ImagePath, ImagePathsRequest } from "./image-path.ts";
import type { DeviceFilesRequest, FilesReading } from "./device-files.ts";
import type { LogLine, LogRequest } from "./log.ts";
import type { EngineNetworks } from "./networks.ts";
import type { EngineVolumes, VolumeMount } from "./volumes.ts";

export type { ContainerUsage } from "../core/app/usage-between.ts";
export type { DirectoryRequest, ExportRequest, ImagePath, ImagePathsRequest } from "./image-path.ts";
export type { DeviceFilesRequest, FilesReading } from "./device-files.ts";
export type { LogLine, LogRequest } from "./log.ts";
export type { ConnectRequest, EngineNetworks, NetworkFacts, NetworkRequest, NetworkState } from "./networks.ts";
export type { EngineVolumes, VolumeMount, VolumeRequest, VolumeSummary } from "./volumes.ts";

/** The container engine: Docker, Podman, or a fake for tests. */
export interface Engine {
  readonly networks: EngineNetworks;
  /** Returns version and properties of the engine. */
  info(signal: AbortSignal): Promise<EngineInfo>;
  /** Returns kind and version. Cheap, whereas `info` makes the engine run programs. */
  identify(signal: AbortSignal): Promise<Pick<EngineInfo, "kind" | "version">>;
  /** Lists all containers on the machine, in any state. */
  listContainers(signal: AbortSignal): Promise<ContainerSummary[]>;
  /** Returns `undefined` if there is no such container. */
  inspectContainer(idOrName: string, signal: AbortSignal): Promise<ContainerState | undefined>;
  /** Returns what the container was created from; `undefined` if there is no such container. */
  readContainerConfig(idOrName: string, signal: AbortSignal): Promise<ContainerConfig | undefined>;
  /**
   * Returns how the container's last run that is over ended, also while it runs again: then from the engine's history
   * of events. `undefined` if no run has ended, the history does not go back that far, or there is no such container.
   */
  readLastExit(id: string, signal: AbortSignal): Promise<RunEnd | undefined>;
  /** Measures what a container uses now; `undefined` if it does not run. */
  containerUsage(id: string, signal: AbortSignal): Promise<ContainerUsage | undefined>;
  /**
   * Returns the disk space of what a container changed in its own file system, running or not; `undefined` if there is no
   * such container or the engine does not know. Engines read the whole directory tree for it.
   */
  writableBytes(id: string, signal: AbortSignal): Promise<number | undefined>;
  /** Returns `undefined` if the image is not on the machine. */
  inspectImage(reference: string, signal: AbortSignal): Promise<ImageFacts | undefined>;
  /** Returns the layers of every image on the machine. */
  layerChains(signal: AbortSignal): Promise<readonly LayerChain[]>;
  /** Lists all images on the machine. */
  listImages(signal: AbortSignal): Promise<ImageSummary[]>;
  /** Pulls an image with the engine's own client. Aborting the signal ends the pull. */
  pullImage(
    reference: string,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
    options?: PullOptions,
  ): Promise<ImageFacts>;
  /**
   * Gives an image on the machine another name, which moves from the image that had it. The name may be a reference
   * with a digest, by which the image is then found. Error `image_not_found` if there is no such image.
   */
  tagImage(idOrName: string, reference: string, signal: AbortSignal): Promise<void>;
  /**
   * Removes a name of an image, and the image with its last name; or, given an id, an image without names. No error if
   * it does not exist. Error `conflict` if a container uses the image that would be removed.
   */
  untagImage(reference: string, signal: AbortSignal): Promise<void>;
  /**
   * Returns what an image has at each path, in their order; `undefined` where it has nothing. Runs nothing of the image,
   * which may have no programs to run.
   */
  readImagePaths(request: ImagePathsRequest, signal: AbortSignal): Promise<readonly (ImagePath | undefined)[]>;
  /**
   * Yields an image's file system as a tar archive, in the same order each time. Runs nothing of the image. Reads no further
   * until a chunk is taken; leaving the loop closes the engine's stream. Error `image_not_found` if there is no such image.
   */
  exportImage(request: ExportRequest, signal: AbortSignal): AsyncGenerator<Uint8Array>;
  /**
   * Makes a directory on the device that does not exist, and its missing parents as root's with mode 0755. The agent
   * itself has no rights there. Runs nothing of the image. Error `conflict` if something is in the way by now.
   */
  makeDirectory(request: DirectoryRequest, signal: AbortSignal): Promise<void>;
  /**
   * Writes files into a directory of the device, with any owner, which the agent itself may not give them. Runs nothing
   * of the image. Error `mount_missing` if the directory does not exist.
   */
  writeDeviceFiles(request: DeviceFilesRequest, signal: AbortSignal): Promise<void>;
  /**
   * Returns the contents of files in a directory of the device, which the agent itself may not be allowed to read;
   * `undefined` for one that is not there or too large. Error `mount_missing` if the directory does not exist.
   */
  readDeviceFiles(request: FilesReading, signal: AbortSignal): Promise<readonly (Uint8Array | undefined)[]>;
  /**
   * Creates a container without starting it, and returns its id. Error `conflict` if the name is taken; `mount_missing`,
   * with the path, if a volume does not exist on the device: then nothing is made there. A network that does not exist may
   * also be an error of the start.
   */
  createContainer(request: ContainerRequest, signal: AbortSignal): Promise<string>;
  /**
   * Starts a container; no error if it runs already. Error `port_in_use` if a port cannot be bound, `mount_missing` if a
   * volume has gone since it was created; `network_missing` if a network has, also if there is another of its name;
   * `rules_lost` or `bridge_lost` if the engine must be restarted first.
   */
  startContainer(id: string, signal: AbortSignal): Promise<void>;
  /**
   * Tries what a start of such a container needs, and runs nothing of its image: starts a helper on the same networks, with
   * the same mounts and devices, that publishes as many ports, and removes it. Rejects as `startContainer` would; a missing
   * program is no error. Takes as long as a start.
   */
  tryStart(request: TrialRequest, signal: AbortSignal): Promise<void>;
  /**
   * Removes a container, running or not, with its anonymous volumes. No error if it does not exist. Error `not_removable`
   * if it stays: most then do not run any more.
   */
  removeContainer(id: string, signal: AbortSignal): Promise<void>;
  /**
   * Asks the app to end, and kills it after `graceMs` milliseconds; a paused one runs on for that. The engine does not restart the container by itself
   * afterwards, not even after a reboot. No error if it does not run or does not exist.
   */
  stopContainer(id: string, graceMs: number, signal: AbortSignal): Promise<void>;
  /**
   * Renames a container, running or not. Error `conflict` if the name is taken. One that is `restarting` may be refused as
   * `between_runs`: it is renamed once it is stopped.
   */
  renameContainer(id: string, name: string, signal: AbortSignal): Promise<void>;
  /**
   * Returns the last lines of the container's standard output and error, oldest first, each at most `MAX_LINE_LENGTH`
   * characters and not masked.
   */
  tailLogs(id: string, lines: number, signal: AbortSignal): Promise<string[]>;
  /**
   * Yields state changes of containers with the label, `KEY` or `KEY=VALUE`. Yields `undefined` once it is watching:
   * the caller must list what happened before. Throws an `EngineError` when the engine ends the stream, or the signal's
   * reason.
   */
  watchContainers(label: string, signal: AbortSignal): AsyncGenerator<ContainerChange | undefined, void>;
  /**
   * Yields the container's output in batches of lines. Reads no further until a batch is taken. Ends at the end of the
   * log, or with `follow` when the container stops. Leaving the loop closes the engine's stream.
   */
  readLogs(id: string, request: LogRequest, signal: AbortSignal): AsyncGenerator<readonly LogLine[], void>;
  readonly volumes: EngineVolumes;
}

export interface EngineInfo {
  readonly kind: "docker" | "podman";
  readonly version: string;
  readonly apiVersion: string;
  readonly os: string;
  readonly architecture: string;
  /** Registries configured as insecure (no TLS), as in references, and address ranges such as `10.0.0.0/8`. */
  readonly insecureRegistries: readonly string[];
  /** Directory in which the engine keeps images. */
  readonly dataRoot: string;
  /** Which container limits this machine can enforce. */
  readonly limits: { readonly memory: boolean; readonly cpu: boolean; readonly swap?: boolean };
  /** Whether it can give GPUs to containers. */
  readonly gpus: boolean;
  /** Whether it runs as a user without rights, with its networks in a namespace of that user. */
  readonly isRootless: boolean;
  /** Whether it can mount a directory of a volume in place of the volume. Others mount the volume without a word. */
  readonly volumeSubpaths: boolean;
  /** Maximum number of layers of an image; absent if it has no limit of its own. */
  readonly maxLayers?: number;
}

export interface ContainerSummary {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly imageId: string;
  readonly status: ContainerStatus;
  readonly labels: Readonly<Record<string, string>>;
  /** Host ports it holds now. */
  readonly hostPorts: readonly HostPort[];
  /**
   * Names of the networks it is on. Absent where it can join none: it uses the host's network, has none, or the engine
   * connects it in another way.
   */
  readonly networks?: readonly string[] | undefined;
}

/** A container has changed; inspect it for its current state. */
export interface ContainerChange {
  readonly id: string;
  /** Its labels, and other attributes the engine reports with them. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface ContainerState extends ContainerSnapshot {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Output of the last health check run; empty if none has run. */
  readonly healthOutput: string;
  /** Its health check, given at its creation or by its image; absent if it has none. */
  readonly healthcheck?: HealthcheckTimes | undefined;
}

/** What a container was created from, as far as it can be part of a specification. */
export interface ContainerConfig {
  /** Reference or id the container was created with. */
  readonly image: string;
  readonly imageId: string;
  /** Labels of the image; `undefined` if the engine no longer has it. */
  readonly imageLabels: Readonly<Record<string, string>> | undefined;
  /** `KEY=value`, without the image's variables. */
  readonly environment: readonly string[];
  readonly ports: ContainerRequest["ports"];
  readonly volumes: ContainerRequest["volumes"];
  readonly hostNetwork: boolean;
  readonly privileged: boolean;
}

export interface ImageSummary {
  readonly id: string;
  /** Names with tags; empty if they moved to another image. */
  readonly names: readonly string[];
  readonly repoDigests: readonly string[];
  /** Bytes on disk. */
  readonly size: number;
}

export interface ImageFacts {
  readonly id: string;
  readonly architecture: string;
  readonly os: string;
  /** Bytes on disk. */
  readonly size: number;
  /** Names with digests, `repository@sha256:...`, by which registries know it. */
  readonly repoDigests: readonly string[];
  /** User its programs run as, `USER[:GROUP]` by name or number; empty for root. */
  readonly user: string;
}

export interface PullOptions {
  /** Credentials for the registry. */
  readonly auth?: RegistryAuth | undefined;
  /** Allows a registry without TLS, as the loopback registry. */
  readonly isInsecure?: boolean;
  /** Called at a stall: whether the engine has a reason to be silent, such as waiting for bytes from the agent. */
  readonly mayBeSilent?: () => boolean;
}

/** The diff ids of an image's layers, lowest first. */
export interface LayerChain {
  readonly imageId: string;
  readonly diffIds: readonly string[];
  /**
   * Whether it was pulled from a registry. Of other images the engine does not know the layers' digests in registries,
   * and downloads such layers again.
   */
  readonly isFromRegistry: boolean;
}

/** Sums over all layers known so far, in bytes. `total` grows while manifests are read. */
export interface PullProgress {
  readonly done: number;
  readonly total: number;
}

/** `tcp` where no protocol is given. */
export interface PortRequest {
  readonly hostPort: number;
  readonly targetPort: number;
  readonly protocol?: "tcp" | "udp";
  /** The address of the device that it is published at; all addresses where there is none. */
  readonly hostAddress?: string;
}

/** A device file. `permissions` consists of `r`, `w` and `m`. */
export interface DeviceRequest {
  readonly local: string;
  readonly target: string;
  readonly permissions: string;
}

/** A health check. Durations in seconds. */
export interface HealthcheckRequest {
  /** Run in the container, without a shell. */
  readonly command: readonly string[];
  readonly intervalS: number;
  readonly timeoutS: number;
  readonly retries: number;
  readonly startPeriodS: number;
}

export interface ContainerRequest {
  readonly name: string;
  /** Image reference or id. */
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  /** `KEY=value`, in order. */
  readonly environment: readonly string[];
  readonly ports: readonly PortRequest[];
  /** Paths of the device. */
  readonly volumes: readonly { readonly local: string; readonly target: string; readonly readonly: boolean }[];
  /** Volumes of the engine, which must exist. */
  readonly namedVolumes?: readonly VolumeMount[];
  /** Files of the device that are mounted read-only. The caller has made them: an engine may make missing ones. */
  readonly files?: readonly { readonly source: string; readonly target: string }[];
  readonly hostNetwork: boolean;
  /** The network it is on, under which names, or none at all. Default: the engine's own. */
  readonly network?:
    | { readonly name: string; readonly aliases: readonly string[] }
    | { readonly container: string }
    | "none";
  readonly privileged: boolean;
  readonly restartPolicy: RestartPolicy;
  /** Replaces the image's command. */
  readonly command?: readonly string[];
  /** Maximum number of processors, fractions allowed. */
  readonly cpuLimit?: number;
  /** Maximum memory, in bytes. */
  readonly memoryLimit?: number;
  readonly devices?: readonly DeviceRequest[];
  /** Replaces the image's health check. */
  readonly healthcheck?: HealthcheckRequest;
  /** Passed to the engine as they are in the specification, except `labels` and `log`, which have fields of their own. */
  readonly options?: Omit<ContainerOptions, "labels" | "log">;
  /** Log rotation: bytes per file, and number of files. */
  readonly logLimit: { readonly maxBytes: number; readonly maxFiles: number };
}

/** A container that is tried, not made. */
export interface TrialRequest extends ContainerRequest {
  /** Names of networks it is on besides `network`. */
  readonly furtherNetworks?: readonly string[];
}
