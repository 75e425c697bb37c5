import type { RunEnd } from "../../src/agent/core/app/container-status.ts";
import { type HostPort, includesPort } from "../../src/agent/core/host/host-port.ts";
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
  ImageFacts,
  ImagePath,
  ImagePathsRequest,
  ImageSummary,
  LayerChain,
  PullOptions,
  LogLine,
  LogRequest,
  PullProgress,
  TrialRequest,
} from "../../src/agent/engine/engine.ts";
import { EngineError } from "../../src/agent/engine/engine-error.ts";
import type { Clock } from "../../src/lib/clock.ts";
import { FakeContainer, isWithin } from "./fake-engine/fake-container.ts";
import { FakeDeviceFiles } from "./fake-engine/fake-device-files.ts";
import * as images from "./fake-engine/fake-image.ts";
import { fail, Faults } from "./fake-engine/faults.ts";
import { FakeNetworks } from "./fake-engine/networks.ts";
import { FakeVolumes } from "./fake-engine/fake-volumes.ts";
import { watch } from "./fake-engine/watch.ts";

const PLAIN = { limits: { memory: true, cpu: true }, gpus: false, isRootless: false, volumeSubpaths: false };
const LOG_EVERY_MS = 50;

/** An engine in memory. It passes the same contract tests as the real engines. */
export class FakeEngine implements Engine {
  /** Makes calls fail or hang, and observes them. */
  readonly faults = new Faults();
  readonly engineInfo: EngineInfo;
  /** Files of the device. */
  readonly files = new FakeDeviceFiles();
  readonly networks = new FakeNetworks(this.faults, () => this.containers);
  readonly volumes = new FakeVolumes(this.faults, {
    containers: () => this.containers,
    image: (name) => this.#existingImage(name),
  });
  readonly #clock: Clock;
  readonly #images = new Map<string, images.FakeImage>();
  readonly #registry = new Map<string, images.FakeImage | EngineError>();
  readonly #containers = new Map<string, FakeContainer>();
  readonly #foreignPorts = new Set<number>();
  #created = 0;
  #openLogs = 0;
  #eventsEpoch = 0;

  constructor(clock: Clock, info: Partial<EngineInfo> = {}) {
    this.#clock = clock;
    const version = { kind: "docker", version: "20.10.0", apiVersion: "1.41" } as const;
    const machine = { os: "linux", architecture: "amd64", insecureRegistries: ["127.0.0.0/8"] };
    this.engineInfo = { ...version, ...machine, ...PLAIN, dataRoot: "/var/lib/docker", ...info };
  }

  /** Adds an image to the engine. */
  addImage(reference: string, image: images.FakeImage = {}): void {
    this.#images.set(reference, image);
  }

  /** Removes an image from the engine. */
  removeImage(reference: string): void {
    this.#images.delete(reference);
  }

  /** Removes every image from the engine. */
  removeImages(): void {
    this.#images.clear();
  }

  /** Adds an image to the registry, or the error that a pull of it fails with. */
  publish(reference: string, image: images.FakeImage | EngineError = {}): void {
    this.#registry.set(reference, image);
  }

  /** Returns the registry's entry for a reference. */
  published(reference: string): images.FakeImage | EngineError | undefined {
    return this.#registry.get(reference);
  }

  /** Returns every entry of the registry. */
  publishedAll(): readonly (readonly [string, images.FakeImage | EngineError])[] {
    return [...this.#registry];
  }

  /** Occupies a TCP port as a process outside any container, until disposed. */
  occupyPort(port: number): Disposable {
    this.#foreignPorts.add(port);
    return { [Symbol.dispose]: () => void this.#foreignPorts.delete(port) };
  }

  /** Returns the container of this id or name; `undefined` if there is none. */
  container(idOrName: string): FakeContainer | undefined {
    return this.#containers.get(idOrName) ?? [...this.#containers.values()].find((c) => c.name === idOrName);
  }

  /** Every container, in order of creation. */
  get containers(): readonly FakeContainer[] {
    return [...this.#containers.values()];
  }

  /** Number of log readers that are open. */
  get openLogs(): number {
    return this.#openLogs;
  }

  /** Reboots the machine: running containers start again by their restart policy. */
  reboot(): void {
    const running = this.containers.filter(({ status }) => status === "running" || status === "restarting");
    for (const container of running) container.start();
  }

  info(signal: AbortSignal): Promise<EngineInfo> {
    return this.faults.around("info", [], signal, () => this.engineInfo);
  }

  identify(signal: AbortSignal): Promise<Pick<EngineInfo, "kind" | "version">> {
    return this.faults.around("identify", [], signal, () => this.engineInfo);
  }

  listContainers(signal: AbortSignal): Promise<ContainerSummary[]> {
    return this.faults.around("listContainers", [], signal, () => this.containers.map(({ summary }) => summary));
  }

  inspectContainer(idOrName: string, signal: AbortSignal): Promise<ContainerState | undefined> {
    return this.faults.around("inspectContainer", [idOrName], signal, () => this.container(idOrName)?.state);
  }

  containerUsage(id: string, signal: AbortSignal): Promise<ContainerUsage | undefined> {
    return this.faults.around("containerUsage", [id], signal, () => this.container(id)?.usage);
  }

  writableBytes(id: string, signal: AbortSignal): Promise<number | undefined> {
    return this.faults.around("writableBytes", [id], signal, () => this.container(id)?.writableBytes);
  }

  readLastExit(id: string, signal: AbortSignal): Promise<RunEnd | undefined> {
    return this.faults.around("readLastExit", [id], signal, () => this.container(id)?.lastExit);
  }

  readContainerConfig(idOrName: string, signal: AbortSignal): Promise<ContainerConfig | undefined> {
    return this.faults.around("readContainerConfig", [idOrName], signal, () => {
      const container = this.container(idOrName);
      if (!container) return undefined;
      const { image, environment, ports, hostNetwork, privileged } = container.request;
      const found = this.#find(image);
      const imageId = found ? this.#facts(image, found).id : image;
      const imageLabels = found && (found.labels ?? {});
      const volumes = container.mounts;
      const published = hostNetwork ? [] : ports;
      return { image, imageId, imageLabels, environment, ports: published, volumes, hostNetwork, privileged };
    });
  }

  listImages(signal: AbortSignal): Promise<ImageSummary[]> {
    const facts = ([name, image]: [string, images.FakeImage]) => ({ name, facts: this.#facts(name, image) });
    return this.faults.around("listImages", [], signal, () => images.summaries([...this.#images].map(facts)));
  }

  inspectImage(reference: string, signal: AbortSignal): Promise<ImageFacts | undefined> {
    return this.faults.around("inspectImage", [reference], signal, () => {
      const image = this.#find(reference);
      return image && this.#facts(reference, image);
    });
  }

  layerChains(signal: AbortSignal): Promise<readonly LayerChain[]> {
    return this.faults.around("layerChains", [], signal, () => {
      const chains = [...this.#images].map(([reference, image]): LayerChain => {
        const { id: imageId, repoDigests } = this.#facts(reference, image);
        return { imageId, diffIds: images.diffIdsOf(image), isFromRegistry: repoDigests.length > 0 };
      });
      // Several names of one image give one entry.
      const known = chains.toSorted((a, b) => Number(a.isFromRegistry) - Number(b.isFromRegistry));
      return [...new Map(known.map((chain) => [chain.imageId, chain])).values()];
    });
  }

  pullImage(
    reference: string,
    onProgress: (progress: PullProgress) => void,
    signal: AbortSignal,
    { auth, isInsecure = false }: PullOptions = {},
  ): Promise<ImageFacts> {
    return this.faults.around("pullImage", [reference, auth], signal, async () => {
      const image = this.#registry.get(reference) ?? images.findByDigest(this.#registry, reference, isInsecure);
      if (image instanceof EngineError) throw image;
      if (!image) throw new EngineError("image_not_found", `manifest for ${reference} not found: manifest unknown`);
      if (image.architecture !== undefined && image.architecture !== this.engineInfo.architecture) {
        throw new EngineError("wrong_platform", `no matching manifest for linux/${this.engineInfo.architecture}`);
      }
      // A pull from loopback takes no time.
      if (!isInsecure) await images.download(image, onProgress, signal, this.#clock);
      this.#name(reference, image);
      return this.#facts(reference, image);
    });
  }

  tagImage(idOrName: string, reference: string, signal: AbortSignal): Promise<void> {
    return this.faults.around("tagImage", [idOrName, reference], signal, () => {
      this.#name(reference, this.#existingImage(idOrName));
    });
  }

  untagImage(reference: string, signal: AbortSignal): Promise<void> {
    return this.faults.around("untagImage", [reference], signal, () => {
      const image = this.#images.get(reference);
      const isLast = [...this.#images.values()].filter((other) => other === image).length === 1;
      const isUsed = this.containers.some(({ request }) => this.#images.get(request.image) === image);
      if (image && isLast && isUsed) throw new EngineError("conflict", `unable to remove ${reference}: in use`);
      this.#images.delete(reference);
    });
  }

  readImagePaths(request: ImagePathsRequest, signal: AbortSignal): Promise<readonly (ImagePath | undefined)[]> {
    return this.faults.around("readImagePaths", [request], signal, () => {
      const { files = {} } = this.#existingImage(request.image);
      return request.paths.map((path) => images.limitedContent(files[path], request.maxBytes));
    });
  }

  async *exportImage(request: ExportRequest, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const image = await this.faults.around("exportImage", [request], signal, () => this.#existingImage(request.image));
    yield* images.archiveOf(image);
  }

  makeDirectory(request: DirectoryRequest, signal: AbortSignal): Promise<void> {
    return this.faults.around("makeDirectory", [request], signal, () => {
      this.#existingImage(request.image);
      this.files.make(request);
    });
  }

  writeDeviceFiles(request: DeviceFilesRequest, signal: AbortSignal): Promise<void> {
    return this.faults.around("writeDeviceFiles", [request], signal, () => {
      this.#existingImage(request.image);
      this.files.write(request);
    });
  }

  readDeviceFiles(request: FilesReading, signal: AbortSignal): Promise<readonly (Uint8Array | undefined)[]> {
    return this.faults.around("readDeviceFiles", [request], signal, () => {
      this.#existingImage(request.image);
      return this.files.read(request);
    });
  }

  createContainer(request: ContainerRequest, signal: AbortSignal): Promise<string> {
    return this.faults.around("createContainer", [request], signal, () => {
      const image = this.#existingImage(request.image);
      this.files.requireAll(request.volumes.map(({ local }) => local));
      if (this.container(request.name)) {
        throw new EngineError("conflict", `The container name "/${request.name}" is already in use`);
      }
      const id = images.sha256Hex(`container ${++this.#created}`);
      const labelled = { ...request, labels: { ...image.labels, ...request.labels } };
      this.volumes.mount(request);
      const container = new FakeContainer(id, labelled, image.behaviour ?? {}, this.#clock);
      container.imageId = this.#facts(request.image, image).id;
      this.networks.attachNew(container);
      this.#containers.set(id, container);
      return id;
    });
  }

  tryStart(request: TrialRequest, signal: AbortSignal): Promise<void> {
    return this.faults.around("tryStart", [request], signal, () => {
      this.#existingImage(request.image);
      this.files.requireAll(request.volumes.map(({ local }) => local));
    });
  }

  startContainer(id: string, signal: AbortSignal): Promise<void> {
    return this.faults.around("startContainer", [id], signal, () => {
      const container = this.#existing(id);
      if (container.status === "running") return;
      container.requireStartable();
      this.files.requireAll(container.request.volumes.map(({ local }) => local));
      this.networks.requireAll(container);
      this.files.requireFiles(container.request.files);
      const port = container.ports.find((candidate) => this.#isTaken(candidate, container))?.port;
      if (port !== undefined) {
        throw new EngineError("port_in_use", `Bind for 0.0.0.0:${port} failed: port is already allocated`, { port });
      }
      container.startAnew();
    });
  }

  stopContainer(id: string, graceMs: number, signal: AbortSignal): Promise<void> {
    return this.faults.around("stopContainer", [id, graceMs], signal, async () => {
      const container = this.container(id);
      if (container) await this.#clock.sleep(container.endsWithin(graceMs), signal);
      container?.stop();
    });
  }

  renameContainer(id: string, name: string, signal: AbortSignal): Promise<void> {
    return this.faults.around("renameContainer", [id, name], signal, () => {
      const container = this.#existing(id);
      if (container.name === name) throw new EngineError("invalid", "renaming a container with the same name");
      if (this.container(name)) {
        throw new EngineError("conflict", `The container name "/${name}" is already in use`);
      }
      if (container.status === "restarting") throw new EngineError("between_runs", `sandbox ${id} not found`);
      container.name = name;
    });
  }

  removeContainer(id: string, signal: AbortSignal): Promise<void> {
    return this.faults.around("removeContainer", [id], signal, () => {
      const container = this.container(id);
      container?.endForRemoval();
      if (container) this.#containers.delete(container.id);
    });
  }

  tailLogs(id: string, lines: number, signal: AbortSignal): Promise<string[]> {
    return this.faults.around("tailLogs", [id, lines], signal, () => {
      const { logs } = this.#existing(id);
      return logs.slice(Math.max(0, logs.length - lines));
    });
  }

  async *watchContainers(label: string, signal: AbortSignal): AsyncGenerator<ContainerChange | undefined, void> {
    await this.faults.around("watchContainers", [label], signal, () => {});
    const epoch = this.#eventsEpoch;
    const isOpen = (): boolean => this.#eventsEpoch === epoch;
    yield* watch({ label, isOpen, containers: () => this.containers, clock: this.#clock }, signal);
  }

  /** Ends the engine's event streams, as a restart does. */
  breakEvents(): void {
    this.#eventsEpoch++;
  }

  async *readLogs(id: string, request: LogRequest, signal: AbortSignal): AsyncGenerator<readonly LogLine[], void> {
    const container = await this.faults.around("readLogs", [id, request], signal, () => this.#existing(id));
    const { tail, follow } = request;
    let shown = Math.max(0, container.log.length - tail);
    this.#openLogs++;
    try {
      for (;;) {
        const isOver = container.status !== "running" || !this.#containers.has(container.id);
        const lines = container.log.slice(shown).filter((line) => isWithin(line, request));
        shown = container.log.length;
        if (lines.length > 0) yield lines;
        if (isOver || !follow) return;
        await this.#clock.sleep(LOG_EVERY_MS, signal);
      }
    } finally {
      this.#openLogs--;
    }
  }

  /** Names an image. The previous image of that name stays, by its id if it has no other name. */
  #name(reference: string, image: images.FakeImage): void {
    const before = this.#images.get(reference);
    this.#images.set(reference, image);
    if (!before || [...this.#images.values()].includes(before)) return;
    this.#images.set(this.#facts(reference, before).id, before);
  }

  #find(name: string): images.FakeImage | undefined {
    return (
      this.#images.get(name) ??
      [...this.#images].find(([reference, image]) => this.#facts(reference, image).id === name)?.[1]
    );
  }

  #existingImage(idOrName: string): images.FakeImage {
    return this.#find(idOrName) ?? fail(new EngineError("image_not_found", `No such image: ${idOrName}`));
  }

  #existing(id: string): FakeContainer {
    return this.container(id) ?? fail(new EngineError("not_found", `No such container: ${id}`));
  }

  #isTaken(port: HostPort, starting: FakeContainer): boolean {
    if (port.protocol === "tcp" && this.#foreignPorts.has(port.port)) return true;
    return this.containers.some((container) => container !== starting && includesPort(container.heldPorts, port));
  }

  #facts(reference: string, image: images.FakeImage): ImageFacts {
    const isPublished = [...this.#registry.values()].includes(image);
    return images.imageFacts(reference, image, { isPublished, architecture: this.engineInfo.architecture });
  }
}
