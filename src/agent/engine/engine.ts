import type { ContainerSnapshot, ContainerStatus } from "../core/app/container-status.ts";
import type { RestartPolicy } from "../core/app/restart-policy.ts";
import type { HostPort } from "../core/host/host-port.ts";
import type { RegistryAuth } from "../core/image/registry-auth.ts";
import type { LogLine, LogRequest } from "./log.ts";

export type { LogLine, LogRequest } from "./log.ts";

/** The container engine as the agent needs it. Docker and Podman implement it, and a fake for tests. */
export interface Engine {
  /** Version and place of the engine. Answers quickly or fails with `unavailable`. */
  info(signal: AbortSignal): Promise<EngineInfo>;
  /** Which engine it is: that it answers at all. Takes it next to nothing, where `info` has it run programs. */
  identify(signal: AbortSignal): Promise<Pick<EngineInfo, "kind" | "version">>;
  /** Every container on the machine, in any state. */
  listContainers(signal: AbortSignal): Promise<ContainerSummary[]>;
  /** `undefined` where there is no such container. */
  inspectContainer(idOrName: string, signal: AbortSignal): Promise<ContainerState | undefined>;
  /** What the container was made from; `undefined` where there is no such container. */
  readContainerConfig(idOrName: string, signal: AbortSignal): Promise<ContainerConfig | undefined>;
  /** What a container uses, measured once at this moment; `undefined` where it does not run. */
  containerUsage(id: string, signal: AbortSignal): Promise<ContainerUsage | undefined>;
  /** `undefined` where the image is not on the machine. */
  inspectImage(reference: string, signal: AbortSignal): Promise<ImageFacts | undefined>;
  /** The layers of every image on the machine. */
  layerChains(signal: AbortSignal): Promise<readonly LayerChain[]>;
  /** Every image on the machine. */
  listImages(signal: AbortSignal): Promise<ImageSummary[]>;
  /** Pulls an image with the engine's own client. Aborting the signal ends the pull. */
  pullImage(
    reference: string,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
    options?: PullOptions,
  ): Promise<void>;
  /**
   * Gives an image on the machine a further name, taken off whatever had it before. Also one with a digest: it is then
   * found by that. Error `image_not_found` where there is no such image.
   */
  tagImage(idOrName: string, reference: string, signal: AbortSignal): Promise<void>;
  /**
   * Takes a name off an image, which goes with its last one; or, by its id, removes one that has none. One that is not
   * there is no error. Error `conflict` where the image would go and a container uses it.
   */
  untagImage(reference: string, signal: AbortSignal): Promise<void>;
  /** Creates a container, stopped, and answers its id. Error `conflict` when the name is taken. */
  createContainer(request: ContainerRequest, signal: AbortSignal): Promise<string>;
  /** Starting a running container is no error. Error `port_in_use` when a port cannot be bound. */
  startContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Removes a container with its anonymous volumes, also a running one. One that is not there is no error. */
  removeContainer(id: string, signal: AbortSignal): Promise<void>;
  /**
   * Asks the app to end, and kills it after `graceMs` milliseconds. The engine does not start it again by itself then,
   * also not after a reboot. Stopping one that does not run, or is not there, is no error.
   */
  stopContainer(id: string, graceMs: number, signal: AbortSignal): Promise<void>;
  /** Gives a container, running or not, another name. Error `conflict` when the name is taken. */
  renameContainer(id: string, name: string, signal: AbortSignal): Promise<void>;
  /**
   * The last lines of the container's output, standard output and error in the order they came, oldest first; each at
   * most `MAX_LINE_LENGTH` characters, and as the app wrote it.
   */
  tailLogs(id: string, lines: number, signal: AbortSignal): Promise<string[]>;
  /**
   * Changes of the states of containers that carry the label, `KEY` or `KEY=VALUE`, as they happen. Once it watches, it
   * answers `undefined` first: what was before is to be looked at. Ends with an `EngineError` when the engine breaks off,
   * and with the signal.
   */
  watchContainers(label: string, signal: AbortSignal): AsyncGenerator<ContainerChange | undefined, void>;
  /**
   * The container's output, some lines at a time, as they come. Nothing more is read while nobody takes what was. Ends
   * when all was read, or, following, when the container stops; leaving it ends the engine's stream.
   */
  readLogs(id: string, request: LogRequest, signal: AbortSignal): AsyncGenerator<readonly LogLine[], void>;
}

/** What a container uses. Counters are since its start. */
export interface ContainerUsage {
  /** Nanoseconds of all processors. */
  readonly cpuNs: number;
  readonly memoryBytes: number;
  /** What it may use; the machine's memory where nothing was set. */
  readonly memoryLimitBytes: number | undefined;
  /** Not known where it uses the host's network. */
  readonly receivedBytes: number | undefined;
  readonly sentBytes: number | undefined;
}

export interface EngineInfo {
  readonly kind: "docker" | "podman";
  readonly version: string;
  readonly apiVersion: string;
  readonly os: string;
  readonly architecture: string;
  /** Registries it is told to take without TLS, as references name them, and ranges of addresses such as `10.0.0.0/8`. */
  readonly insecureRegistries: readonly string[];
  /** Directory the engine keeps images in, on the machine of the engine. */
  readonly dataRoot: string;
  /** Which limits of containers this machine can hold them to. */
  readonly limits: { readonly memory: boolean; readonly cpu: boolean };
}

export interface ContainerSummary {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly status: ContainerStatus;
  readonly labels: Readonly<Record<string, string>>;
  /** Host ports published right now. */
  readonly hostPorts: readonly HostPort[];
}

/** Something happened to a container. What it is now is to be asked for. */
export interface ContainerChange {
  readonly id: string;
  /** Its labels, and whatever else the engine tells of it. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface ContainerState extends ContainerSnapshot {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Output of the last health check run; empty if none has run. */
  readonly healthOutput: string;
}

/** What a container was made from, as far as an app's specification says it. */
export interface ContainerConfig {
  /** Reference or id the container was created with. */
  readonly image: string;
  readonly imageId: string;
  /** Labels the image brings itself; `undefined` where the engine has it no more. */
  readonly imageLabels: Readonly<Record<string, string>> | undefined;
  /** `KEY=value`, without what the image brings itself. */
  readonly environment: readonly string[];
  readonly ports: ContainerRequest["ports"];
  readonly volumes: ContainerRequest["volumes"];
  readonly hostNetwork: boolean;
  readonly privileged: boolean;
}

export interface ImageSummary {
  readonly id: string;
  /** With their tags. None where they went over to another image. */
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
  /** `repository@sha256:...` under which registries know it. */
  readonly repoDigests: readonly string[];
}

export interface PullOptions {
  /** What to show the registry. */
  readonly auth?: RegistryAuth | undefined;
  /** The registry may be spoken to without TLS, as one on this machine. */
  readonly isInsecure?: boolean;
  /** Asked when the engine has said nothing for long: whether it has a reason, such as bytes that are still to come. */
  readonly mayBeSilent?: () => boolean;
}

/** The layers of an image, by the hash of their tars, lowest first. */
export interface LayerChain {
  readonly imageId: string;
  readonly diffIds: readonly string[];
  /**
   * Whether a registry knows it by a digest. An engine does not know what the layers of other images are called in
   * registries, and fetches them once more.
   */
  readonly isFromRegistry: boolean;
}

/** Sums over all layers known so far, in bytes. `total` may grow while manifests are still being read. */
export interface PullProgress {
  readonly done: number;
  readonly total: number;
}

/** `tcp` where no protocol is given. */
export interface PortRequest {
  readonly hostPort: number;
  readonly targetPort: number;
  readonly protocol?: "tcp" | "udp";
}

/** A device file of the machine. `permissions` are of `r`, `w` and `m`. */
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
  readonly volumes: readonly { readonly local: string; readonly target: string; readonly readonly: boolean }[];
  readonly hostNetwork: boolean;
  readonly privileged: boolean;
  readonly restartPolicy: RestartPolicy;
  /** In place of the image's own command. */
  readonly command?: readonly string[];
  /** Most processors it may use, fractions allowed. */
  readonly cpuLimit?: number;
  /** Most memory it may use, in bytes. */
  readonly memoryLimit?: number;
  readonly devices?: readonly DeviceRequest[];
  /** In place of the image's own health check. */
  readonly healthcheck?: HealthcheckRequest;
  /** Bound of the container's log: size of one file in bytes, and number of files. */
  readonly logLimit: { readonly maxBytes: number; readonly maxFiles: number };
}
