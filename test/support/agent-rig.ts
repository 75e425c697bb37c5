import { pino } from "pino";
import type { HostPort } from "../../src/agent/core/host/host-port.ts";
import { type ResolvedPath, pathWithoutLinks } from "../../src/agent/core/policy/resolved-path.ts";
import { platformOf } from "../../src/agent/core/image/platform.ts";
import type { RegistryAuth } from "../../src/agent/registry/registry.ts";
import { EngineMeter } from "../../src/agent/engine/engine-meter.ts";
import type { Host } from "../../src/agent/host/host.ts";
import { OPEN_GATE, type PullGate } from "../../src/agent/ledger/pull-gate.ts";
import { CountingLedger } from "./counting-ledger.ts";
import { createImageProvider } from "../../src/agent/images/image-provider.ts";
import type { ImageConfig, ImageServices } from "../../src/agent/images/ports.ts";
import type { DeployConfig, DeployServices } from "../../src/agent/steps/context.ts";
import { DeviceDeployments } from "../../src/agent/steps/deployments.ts";
import { EngineTroubles } from "../../src/agent/engine/engine-troubles.ts";
import { CrashGuard } from "../../src/agent/store/crash-guard.ts";
import { NotifyingStore } from "../../src/agent/store/notifying-store.ts";
import { openSqliteStore } from "../../src/agent/store/sqlite-store.ts";
import type { AgentStore } from "../../src/agent/store/store.ts";
import { Semaphore } from "../../src/lib/semaphore.ts";
import type { DeviceEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { FakeClock } from "./fake-clock.ts";
import { FakeUploads } from "./uploads/fake-uploads.ts";
import { FileFetcher } from "../../src/agent/files/fetcher.ts";
import { FakeDownloader } from "./fake-downloader.ts";
import { FakeEngine } from "./fake-engine.ts";
import { FakeRegistry } from "./fake-registry.ts";
import { MemoryPreviousLogs } from "./memory-previous-logs.ts";

/** Settings of deployments and image pulls. */
export type RigConfig = DeployConfig & ImageConfig;

/** In milliseconds of real time: shorter than the time of a test, so that it is this class that fails. */
const DISK_MS = 20_000;

const DEPLOY_CONFIG: Omit<RigConfig, "maxImageBytes"> = {
  settleMs: 3_000,
  healthTimeoutMs: 20_000,
  pullAttempts: 3,
  pullBy: "engine",
  enginePatienceMs: 60_000,
  stopGraceMs: 10_000,
  maxDownloadBytes: undefined,
  diskReserveBytes: 1_000,
  stateDir: "/var/lib/edge-agent",
  networkSubnets: [],
  containerLog: { maxBytes: 1_000_000, maxFiles: 2 },
  policy: { privileged: true, host_network: true, mounts: { allow: [], deny: [] }, registries: { allow: [] } },
  protectedPaths: [],
};

/** A host whose state the test sets. */
class FakeHost implements Host {
  readonly listening = new Map<number, { pid: number; name: string }>();
  share: number | undefined = 0.5;
  readonly devices = new Set<string>();
  free: number | undefined = 1_000_000_000;

  async listeningPorts() {
    return [...this.listening.keys()].map((port) => ({
      address: "0.0.0.0",
      port,
      protocol: "tcp" as const,
      uid: 0,
      inode: port,
    }));
  }

  async findPortHolder({ port }: HostPort) {
    return this.listening.get(port);
  }

  async freeBytes() {
    return this.free;
  }

  inodes: number | undefined;

  async freeInodes() {
    return this.inodes;
  }

  async freeShare() {
    return this.share;
  }

  /** What symbolic links resolve to, by path. */
  readonly resolvedPaths = new Map<string, ResolvedPath>();

  async resolvePath(path: string) {
    return this.resolvedPaths.get(path) ?? pathWithoutLinks(path);
  }

  async readMounts() {
    return [];
  }

  async isDevice(path: string) {
    return this.devices.has(path);
  }

  readonly missingPaths = new Set<string>();

  async isMissing(path: string) {
    return this.missingPaths.has(path);
  }

  capacity() {
    return { memoryBytes: 1_000_000_000, cpus: 4 };
  }
}

/** The deployment part of an agent on a fake engine. Its store is a real one in memory and survives `restart`. */
export class AgentRig implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly engine = new FakeEngine(this.clock);
  readonly engineMeter = new EngineMeter();
  readonly troubles = new EngineTroubles();
  readonly registry = new FakeRegistry(this.engine);
  /** The device's registry credentials, by registry. */
  readonly logins = new Map<string, RegistryAuth>();
  readonly host = new FakeHost();
  readonly ledger = new CountingLedger();
  /** Of runs that begin from now on. */
  gate: PullGate = OPEN_GATE;
  /** Downloads at the same time, of runs that begin from now on. */
  pullSlots = 2;
  /** Its partial downloads survive `restart`, as files on disk do. */
  readonly downloader = new FakeDownloader(this.engine, this.clock);
  /** What the service has for the device. */
  readonly uploads = new FakeUploads();
  readonly previousLogs = new MemoryPreviousLogs();
  readonly log: string[] = [];
  readonly store: NotifyingStore;
  deployments: DeviceDeployments;
  crashGuard: CrashGuard;
  #boots = 1;
  readonly #config: RigConfig;

  constructor(config: Partial<RigConfig> = {}, wrap: (store: AgentStore) => AgentStore = (store) => store) {
    const merged = { ...DEPLOY_CONFIG, ...config };
    this.#config = { maxImageBytes: merged.policy.max_image_bytes, ...merged };
    this.store = new NotifyingStore(wrap(openSqliteStore({ path: ":memory:", clock: this.clock, bootId: "boot" })));
    this.crashGuard = this.#guard();
    this.deployments = new DeviceDeployments(this.services);
    this.deployments.resume();
  }

  get stateDir(): string {
    return this.#config.stateDir;
  }

  /** Unacknowledged events of a deployment, in order. */
  events(deploymentId: string): DeviceEvent[] {
    return this.store
      .pendingEvents(0, 10_000)
      .filter((event) => event.deploymentId === deploymentId)
      .map(({ event }) => event);
  }

  /** The last event of a deployment: the final one once it has ended. */
  last(deploymentId: string): DeviceEvent | undefined {
    return this.events(deploymentId).at(-1);
  }

  /**
   * Advances the fake clock until the deployment has ended. Throws after `limitMs` of it, but not before a real time in
   * which a busy disk has taken the files of an app.
   */
  async untilEnd(deploymentId: string, limitMs = 300_000): Promise<DeviceEvent | undefined> {
    const begun = performance.now();
    for (let passed = 0; passed <= limitMs || performance.now() - begun < DISK_MS; passed += 50) {
      if ((this.store.deployment(deploymentId)?.outcome ?? "pending") !== "pending") return this.last(deploymentId);
      await this.clock.advance(50);
    }
    throw new Error(`no end within ${limitMs} ms; events: ${JSON.stringify(this.events(deploymentId))}`);
  }

  /** Ends the agent as it is killed, with the machine as by a power cut, or as asked, and starts a new one on the same store. */
  async restart(end: "killed" | "power cut" | "stopped" = "killed"): Promise<void> {
    if (end === "stopped") this.crashGuard.stop();
    if (end === "power cut") this.#boots++;
    this.crashGuard[Symbol.dispose]();
    await this.deployments[Symbol.asyncDispose]();
    this.crashGuard = this.#guard();
    this.deployments = new DeviceDeployments(this.services);
    this.deployments.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.crashGuard[Symbol.dispose]();
    await this.deployments[Symbol.asyncDispose]();
    this.store[Symbol.dispose]();
  }

  /** What the parts of this agent share. */
  get services(): DeployServices & ImageServices {
    const services = {
      engine: this.engineMeter.measured(this.engine),
      host: this.host,
      store: this.store,
      clock: this.clock,
      random: () => 0.5,
      logger: pino({ level: "trace" }, { write: (line) => void this.log.push(line) }),
      config: this.#config,
      registry: this.registry,
      credentials: { lookup: async (registry) => this.logins.get(registry) },
      platform: async (signal) => {
        const { os, architecture } = await this.engine.info(signal);
        return platformOf(os, architecture, "x86_64");
      },
      engineInfo: (signal: AbortSignal) => this.engine.info(signal),
      downloader: this.downloader,
      pullSlots: new Semaphore(this.pullSlots),
      gate: this.gate,
      ledger: this.ledger,
    } satisfies ImageServices;
    const { engineMeter, previousLogs, crashGuard, troubles } = this;
    const images = createImageProvider(services);
    const fileFetcher = new FileFetcher({
      ...services,
      blobs: this.uploads,
      locate: () => ({
        registry: "service.example",
        repository: "uploads",
        auth: { kind: "token", token: "ed_token" },
      }),
      maxDownloadBytes: this.#config.maxDownloadBytes,
      stateDir: this.#config.stateDir,
      freeBytes: () => this.host.freeBytes(),
    });
    return { ...services, engineMeter, images, fileFetcher, previousLogs, crashGuard, troubles };
  }

  #guard(): CrashGuard {
    const { store, clock } = this;
    const logger = pino({ level: "trace" }, { write: (line) => void this.log.push(line) });
    return new CrashGuard({ store, clock, logger, bootId: `boot ${this.#boots}`, maxCrashes: 3 });
  }
}
