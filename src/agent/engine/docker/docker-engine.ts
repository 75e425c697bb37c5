import type { ContainerInfo } from "dockerode";
import type { Clock } from "../../../lib/clock.ts";
import { memoize } from "../../../lib/memoize.ts";
import type { ContainerStatus, RunEnd } from "../../core/app/container-status.ts";
import { nanoseconds } from "../../core/logs/time.ts";
import type {
  ContainerChange,
  ContainerConfig,
  ContainerRequest,
  ContainerState,
  ContainerSummary,
  ContainerUsage,
  DeviceFilesRequest,
  DirectoryRequest,
  Engine,
  EngineInfo,
  ExportRequest,
  FilesReading,
  EngineVolumes,
  ImageFacts,
  ImagePath,
  ImagePathsRequest,
  ImageSummary,
  LayerChain,
  LogLine,
  LogRequest,
  PullOptions,
  PullProgress,
  TrialRequest,
} from "../engine.ts";
import { EngineError } from "../engine-error.ts";
import { call } from "./call.ts";
import type { ConnectEngine } from "./connection.ts";
import { createConnector } from "./connection.ts";
import { containerUsage, writableBytes } from "./container-usage.ts";
import { configuredPorts, toState, toSummary } from "./container-mapping.ts";
import { createOptions } from "./create-options.ts";
import {
  makeDirectory,
  readDeviceFiles,
  readImagePaths,
  requireMountSources,
  writeDeviceFiles,
} from "./device-files.ts";
import { openExport } from "./export-image.ts";
import { resolveHostGateway } from "./host-gateway.ts";
import type { HelperEngine } from "./helper-container.ts";
import { readContainerConfig } from "./container-config.ts";
import { findContainer, requireContainerId } from "./find-container.ts";
import { getJson } from "./get.ts";
import { diffIdsOf, findLocalName, inspectImage, listImages, tagImage, untagImage } from "./images.ts";
import { LayerChains } from "./layer-chains.ts";
import { readLastExit } from "./last-exit.ts";
import { logLines, openLog } from "./logs.ts";
import { DockerNetworks } from "./networks.ts";
import { PodmanHealth } from "./podman-health.ts";
import { isBetweenRuns, stopForGood } from "./podman-runs.ts";
import { pull } from "./pull.ts";
import { identify, readInfo } from "./read-info.ts";
import { requireList, requireFields } from "./shape.ts";
import { removeUntilGone, stop } from "./stop-and-remove.ts";
import { toEngineError } from "./to-engine-error.ts";
import { tryStart } from "./try-start.ts";
import { unlessStatus } from "./unless-status.ts";
import { requireVolumeSubpaths } from "./volume-subpaths.ts";
import { engineVolumes } from "./volumes.ts";
import { containerChanges, openEvents } from "./watch-containers.ts";

export interface DockerEngineOptions {
  /** Called for each request. May throw an `EngineError` of kind `unavailable`. */
  readonly socketPath: () => string;
  readonly clock: Clock;
  /** Timeout of calls that only read, in milliseconds. Default 10 s. */
  readonly queryTimeoutMs?: number;
  /** Timeout of calls that change something, plus the grace period of a stop, in milliseconds. Default 60 s. */
  readonly changeTimeoutMs?: number;
  /** Time without a message after which a pull has failed, in milliseconds. Default 120 s. */
  readonly pullStallMs?: number;
}

const ENGINE_KIND_TTL_MS = 600_000;
/** Podman's own API reports no progress while it unpacks a layer, so its stall timeout is longer by this factor. */
const PODMAN_STALL_FACTOR = 5;

/** Creates an engine for Docker 20.10 and later, or Podman 4.3 and later through its Docker-compatible socket. */
export function createDockerEngine(options: DockerEngineOptions): Engine {
  return new DockerEngine(options);
}

function isWithin({ time }: LogLine, { since, until }: LogRequest): boolean {
  const at = since === undefined && until === undefined ? undefined : nanoseconds(time);
  return at === undefined || ((since === undefined || at >= since) && (until === undefined || at < until));
}

class DockerEngine implements Engine {
  readonly networks: DockerNetworks;
  readonly volumes: EngineVolumes = engineVolumes({
    query: (signal, run) => this.#query(signal, run),
    change: (signal, run) => this.#change(signal, run),
    helperEngine: (signal) => this.#helperEngine(signal),
    connect: () => this.#connect(),
  });
  readonly #connect: ConnectEngine;
  readonly #clock: Clock;
  readonly #kind: (signal: AbortSignal) => Promise<EngineInfo["kind"]>;
  readonly #isRootless: (signal: AbortSignal) => Promise<boolean>;
  readonly #queryMs: number;
  readonly #changeMs: number;
  readonly #pullStallMs: number;
  readonly #layerChains = new LayerChains();
  readonly #podmanHealth: PodmanHealth;

  constructor(options: DockerEngineOptions) {
    this.#connect = createConnector(options.socketPath);
    this.#clock = options.clock;
    this.#kind = memoize(options.clock, ENGINE_KIND_TTL_MS, async (signal) => {
      return (await identify(this.#connect(), signal)).kind;
    });
    this.#isRootless = memoize(options.clock, ENGINE_KIND_TTL_MS, async (signal) => {
      return (await readInfo(this.#connect(), signal)).isRootless;
    });
    this.#podmanHealth = new PodmanHealth(options.clock);
    this.#queryMs = options.queryTimeoutMs ?? 10_000;
    this.#changeMs = options.changeTimeoutMs ?? 60_000;
    this.#pullStallMs = options.pullStallMs ?? 120_000;
    this.networks = new DockerNetworks({
      connect: this.#connect,
      kind: this.#kind,
      query: (signal, run) => this.#query(signal, run),
      change: (signal, run) => this.#change(signal, run),
    });
  }

  info(signal: AbortSignal): Promise<EngineInfo> {
    return this.#query(signal, (abortSignal) => readInfo(this.#connect(), abortSignal));
  }

  identify(signal: AbortSignal): Promise<Pick<EngineInfo, "kind" | "version">> {
    return this.#query(signal, (abortSignal) => identify(this.#connect(), abortSignal));
  }

  listContainers(signal: AbortSignal): Promise<ContainerSummary[]> {
    return this.#query(signal, async (abortSignal) => {
      const listed = await getJson<ContainerInfo[]>(this.#connect(), "/containers/json", abortSignal, { all: true });
      const summaries: ContainerSummary[] = [];
      for (const info of requireList(listed)) {
        const summary = toSummary(info);
        const status = await this.#statusOf(summary, abortSignal);
        summaries.push(await this.#withPorts({ ...summary, status }, abortSignal));
      }
      return summaries;
    });
  }

  /** Returns `restarting` for a container that Podman is about to start again. */
  async #statusOf(
    { id, status }: Pick<ContainerState, "id" | "status">,
    signal: AbortSignal,
  ): Promise<ContainerStatus> {
    if ((status !== "exited" && status !== "created") || (await this.#kind(signal)) === "docker") return status;
    return (await isBetweenRuns(this.#connect(), id, this.#clock, signal)) ? "restarting" : status;
  }

  /** Adds the configured ports of a restarting container, which is listed without ports between two runs. */
  async #withPorts(summary: ContainerSummary, abortSignal: AbortSignal): Promise<ContainerSummary> {
    if (summary.status !== "restarting" || summary.hostPorts.length > 0) return summary;
    const info = await findContainer(this.#connect(), summary.id, abortSignal);
    return { ...summary, hostPorts: info ? configuredPorts(info) : [] };
  }

  inspectContainer(idOrName: string, signal: AbortSignal): Promise<ContainerState | undefined> {
    return this.#query(signal, async (abortSignal) => {
      const info = await findContainer(this.#connect(), idOrName, abortSignal);
      if (!info) return undefined;
      const state = toState(info);
      if (state.healthcheck && (await this.#kind(abortSignal)) === "podman")
        this.#podmanHealth.check(this.#connect(), info, state);
      return { ...state, status: await this.#statusOf(state, abortSignal) };
    });
  }

  readLastExit(id: string, signal: AbortSignal): Promise<RunEnd | undefined> {
    return this.#query(signal, async (abortSignal) => {
      const query = { kind: await this.#kind(abortSignal), nowMs: this.#clock.timeOfDay() };
      return await readLastExit(this.#connect(), id, query, abortSignal);
    });
  }

  containerUsage(id: string, signal: AbortSignal): Promise<ContainerUsage | undefined> {
    return this.#query(signal, (abortSignal) => containerUsage(this.#connect(), id, abortSignal));
  }

  writableBytes(id: string, signal: AbortSignal): Promise<number | undefined> {
    return this.#query(signal, (abortSignal) => writableBytes(this.#connect(), id, abortSignal));
  }

  readContainerConfig(idOrName: string, signal: AbortSignal): Promise<ContainerConfig | undefined> {
    return this.#query(signal, (abortSignal) => readContainerConfig(this.#connect(), idOrName, abortSignal));
  }

  listImages(signal: AbortSignal): Promise<ImageSummary[]> {
    return this.#query(signal, (abortSignal) => listImages(this.#connect(), abortSignal));
  }

  inspectImage(reference: string, signal: AbortSignal): Promise<ImageFacts | undefined> {
    return this.#query(signal, (abortSignal) => inspectImage(this.#connect(), reference, abortSignal));
  }

  async layerChains(signal: AbortSignal): Promise<readonly LayerChain[]> {
    return await this.#layerChains.of(await this.listImages(signal), (id) => {
      return this.#query(signal, (abortSignal) => diffIdsOf(this.#connect(), id, abortSignal));
    });
  }

  async pullImage(
    reference: string,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
    { auth, isInsecure = false, mayBeSilent = () => false }: PullOptions = {},
  ): Promise<ImageFacts> {
    const kind = isInsecure ? await this.#query(signal, this.#kind) : "docker";
    const stallMs = this.#pullStallMs * (kind === "podman" ? PODMAN_STALL_FACTOR : 1);
    const options = { reference, onProgress, stallMs, mayBeSilent, kind, auth };
    await pull(this.#connect, this.#clock, options, signal);
    const image = await this.inspectImage(reference, signal);
    if (image) return image;
    throw new EngineError("registry_unreachable", "the image is not on the machine after the pull");
  }

  tagImage(idOrName: string, reference: string, signal: AbortSignal): Promise<void> {
    return this.#change(signal, (abortSignal) => tagImage(this.#connect(), idOrName, reference, abortSignal));
  }

  untagImage(reference: string, signal: AbortSignal): Promise<void> {
    return this.#change(signal, (abortSignal) => untagImage(this.#connect(), reference, abortSignal));
  }

  readImagePaths(request: ImagePathsRequest, signal: AbortSignal): Promise<readonly (ImagePath | undefined)[]> {
    return this.#change(signal, async (abortSignal) => {
      return await readImagePaths(await this.#helperEngine(abortSignal), request, abortSignal);
    });
  }

  async *exportImage(request: ExportRequest, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const engine = await this.#query(signal, (abortSignal) => this.#helperEngine(abortSignal));
    await using archive = await this.#change(signal, (abortSignal) => openExport(engine, request, abortSignal, signal));
    try {
      yield* archive.stream;
    } catch (error) {
      signal.throwIfAborted();
      throw toEngineError(error);
    }
  }

  makeDirectory(request: DirectoryRequest, signal: AbortSignal): Promise<void> {
    return this.#change(signal, async (abortSignal) => {
      await makeDirectory(await this.#helperEngine(abortSignal), request, abortSignal);
    });
  }

  writeDeviceFiles(request: DeviceFilesRequest, signal: AbortSignal): Promise<void> {
    return this.#change(signal, async (abortSignal) => {
      await writeDeviceFiles(await this.#helperEngine(abortSignal), request, abortSignal);
    });
  }

  readDeviceFiles(request: FilesReading, signal: AbortSignal): Promise<readonly (Uint8Array | undefined)[]> {
    return this.#change(signal, async (abortSignal) => {
      return await readDeviceFiles(await this.#helperEngine(abortSignal), request, abortSignal);
    });
  }

  async #helperEngine(abortSignal: AbortSignal): Promise<HelperEngine> {
    return { docker: this.#connect(), kind: await this.#kind(abortSignal), clock: this.#clock };
  }

  createContainer(request: ContainerRequest, signal: AbortSignal): Promise<string> {
    return this.#change(signal, async (abortSignal) => {
      const helperEngine = await this.#helperEngine(abortSignal);
      const { docker, kind } = helperEngine;
      const sources = request.volumes.map(({ local }) => local);
      if (kind === "podman" && sources.length > 0) {
        const { image, labels } = request;
        await requireMountSources(helperEngine, { image, labels, sources }, abortSignal);
      }
      await requireVolumeSubpaths(docker, request, abortSignal);
      const image = await findLocalName(docker, request.image, abortSignal);
      try {
        const isRootless = kind === "podman" && (await this.#isRootless(abortSignal));
        const options = createOptions({ ...request, image }, { kind, isRootless });
        const resolved = kind === "podman" ? await resolveHostGateway(docker, options, abortSignal) : options;
        const container = await docker.createContainer({ ...resolved, abortSignal });
        return requireFields(container, { id: "" }).id;
      } catch (error) {
        throw toEngineError(error, request.environment.map(variableValue));
      }
    });
  }

  tryStart(request: TrialRequest, signal: AbortSignal): Promise<void> {
    return this.#change(signal, async (abortSignal) => {
      const engine = await this.#helperEngine(abortSignal);
      const isRootless = engine.kind === "podman" && (await this.#isRootless(abortSignal));
      await tryStart({ ...engine, isRootless }, request, abortSignal);
    });
  }

  startContainer(id: string, signal: AbortSignal): Promise<void> {
    return this.#change(signal, async (abortSignal) => {
      const docker = this.#connect();
      const container = docker.getContainer(await requireContainerId(docker, id, abortSignal));
      // 304: it runs already.
      await unlessStatus(304, container.start({ abortSignal }));
    });
  }

  stopContainer(id: string, graceMs: number, signal: AbortSignal): Promise<void> {
    return call(this.#clock, this.#changeMs + graceMs, signal, async (abortSignal) => {
      const docker = this.#connect();
      const info = await findContainer(docker, id, abortSignal);
      if (!info) return;
      const container = docker.getContainer(info.Id);
      const stopOnce = (): Promise<void> => stop(container, graceMs, abortSignal);
      if ((await this.#kind(abortSignal)) === "docker") return await stopOnce();
      // Docker does so itself. Podman refuses to stop a paused container.
      if (info.State.Paused) await container.unpause({ abortSignal });
      await stopForGood(docker, info.Id, stopOnce, this.#clock, abortSignal);
    });
  }

  renameContainer(id: string, name: string, signal: AbortSignal): Promise<void> {
    return this.#change(signal, async (abortSignal) => {
      const docker = this.#connect();
      await docker.getContainer(await requireContainerId(docker, id, abortSignal)).rename({ name, abortSignal });
    });
  }

  removeContainer(id: string, signal: AbortSignal): Promise<void> {
    return this.#change(signal, async (abortSignal) => {
      const docker = this.#connect();
      const info = await findContainer(docker, id, abortSignal);
      if (info) await removeUntilGone(docker.getContainer(info.Id), this.#clock, abortSignal);
    });
  }

  tailLogs(id: string, lines: number, signal: AbortSignal): Promise<string[]> {
    return this.#query(signal, async (abortSignal) => {
      const { stream, raw } = await openLog(this.#connect(), id, { tail: lines, follow: false }, abortSignal);
      const last: string[] = [];
      for await (const batch of logLines(stream, raw)) {
        last.push(...batch.map(({ text }) => text));
        last.splice(0, last.length - lines);
      }
      return last;
    });
  }

  async *watchContainers(label: string, signal: AbortSignal): AsyncGenerator<ContainerChange | undefined, void> {
    const kind = await this.#query(signal, this.#kind);
    const stream = await this.#query(signal, () => openEvents(this.#connect(), { kind, label }, signal));
    try {
      yield undefined;
      yield* containerChanges(stream);
    } catch (error) {
      signal.throwIfAborted();
      throw toEngineError(error);
    }
    signal.throwIfAborted();
    throw new EngineError("unavailable", "the container engine closed its event stream");
  }

  async *readLogs(id: string, request: LogRequest, signal: AbortSignal): AsyncGenerator<readonly LogLine[], void> {
    // The timeout applies until the response begins, not to the stream.
    const { stream, raw } = await this.#query(signal, () => openLog(this.#connect(), id, request, signal));
    try {
      for await (const lines of logLines(stream, raw)) yield lines.filter((line) => isWithin(line, request));
    } catch (error) {
      signal.throwIfAborted();
      throw toEngineError(error);
    }
    signal.throwIfAborted();
  }

  #query<T>(signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return call(this.#clock, this.#queryMs, signal, run);
  }

  #change<T>(signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return call(this.#clock, this.#changeMs, signal, run);
  }
}

/** Returns the value of `KEY=VALUE`. */
function variableValue(variable: string): string {
  return variable.slice(variable.indexOf("=") + 1);
}
