import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { Semaphore } from "../../../src/lib/semaphore.ts";
import { parseRequest, type UpdateRequest } from "../../../src/lib/release/messages.ts";
import { digestOf, RELEASE_TYPES } from "../../../src/lib/release/read-release.ts";
import { keysFolder, readTrustedKeys } from "../../../src/lib/release/trusted-keys.ts";
import { BlobDownloader } from "../../../src/agent/download/blob-download.ts";
import { PartStore } from "../../../src/agent/download/part-store.ts";
import type { Traffic } from "../../../src/agent/ledger/ledger.ts";
import { OPEN_GATE } from "../../../src/agent/ledger/pull-gate.ts";
import { createRegistryClient } from "../../../src/agent/registry/oci-client.ts";
import { storeOnTrial } from "../../../src/agent/daemon/agent-updates.ts";
import { type OpenedStore, openStore } from "../../../src/agent/store/open-store.ts";
import { type AgentStore, StoreError } from "../../../src/agent/store/store.ts";
import {
  AgentUpdates,
  type DownloadBounds,
  type InstalledVersions,
  type ReleaseSource,
  type UpdateServices,
} from "../../../src/agent/updates/agent-updates.ts";
import type { DeployOptions } from "../../../src/protocol/apps/deploy-request.ts";
import type { EventContent } from "../../../src/protocol/deployments/deployment-event.ts";
import { captureLogText } from "../captured-log.ts";
import type { Certificate } from "../link/certificates.ts";
import { FakeClock } from "../fake-clock.ts";
import { MemoryRegistry } from "../registry/memory-registry.ts";
import { waitFor } from "../wait-for.ts";
import { UpdateRig } from "./update-rig.ts";

const random = (): number => 0;
/** More than the launcher starts a version that ends. */
const MAX_STARTS = 6;
const OPTIONS = { baseMs: 1, maxMs: 1, patienceMs: 60_000 };

interface ManifestOfLayout {
  readonly digest: string;
  readonly size: number;
  readonly mediaType: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What a test replaces of the services. */
interface ReplacedServices {
  readonly store?: AgentStore;
  readonly versions?: Partial<InstalledVersions>;
  readonly source?: Partial<ReleaseSource>;
  readonly bounds?: Partial<DownloadBounds>;
}

/**
 * The agent's part in updates of itself, on the folders of a device with the real updater and the real scripts of the package, and a
 * registry. What a restart ends is begun anew with `restart`.
 */
export class UpdateAgentRig implements AsyncDisposable {
  readonly device: UpdateRig;
  readonly registry: MemoryRegistry;
  readonly clock = new FakeClock();
  readonly traffic: Traffic[] = [];
  /** Requests for layers. */
  layerRequests = 0;
  /** Responds in place of the registry, if it returns `true`. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  updates: AgentUpdates;
  isWorking = false;
  /** Schema of the store that a version knows; `undefined`: that of this build. */
  migrations: (version: string) => readonly string[] | undefined = () => undefined;
  services: ReplacedServices = {};
  #opened: OpenedStore;
  readonly #log = captureLogText();
  /** By digest. */
  readonly #layers = new Set<string>();
  readonly #layerSizes = new Map<string, readonly number[]>();
  readonly #owned: AsyncDisposableStack;

  private constructor(device: UpdateRig, registry: MemoryRegistry, owned: AsyncDisposableStack) {
    this.device = device;
    this.registry = registry;
    this.#owned = owned;
    this.#opened = this.#openStore("package");
    writeFileSync(device.path("package/edge-agent.mjs"), "");
    this.updates = new AgentUpdates(this.#servicesOf("package"));
  }

  /** @param certificate of a registry with https; default: plain HTTP */
  static async create(certificate?: Certificate): Promise<UpdateAgentRig> {
    const owned = new AsyncDisposableStack();
    const device = owned.use(await UpdateRig.create());
    let rig: UpdateAgentRig | undefined;
    const registry = owned.use(
      await MemoryRegistry.start({
        hasReferrers: true,
        certificate,
        intercept: (request, response) => rig?.onRequest(request, response) ?? false,
      }),
    );
    rig = new UpdateAgentRig(device, registry, owned);
    return rig;
  }

  get store(): AgentStore {
    return this.#opened.store;
  }

  onRequest(request: IncomingMessage, response: ServerResponse): boolean {
    const digest = /\/blobs\/(sha256:\w+)$/.exec(request.url ?? "")?.[1] ?? "";
    if (this.#layers.has(digest)) this.layerRequests++;
    return this.intercept(request, response);
  }

  /** Brings a release to the registry. @returns its reference */
  async push(version: string, options: Parameters<UpdateRig["release"]>[1] = {}): Promise<string> {
    const layout = await this.device.release(version, options);
    const read = (digest: string): Buffer => readFileSync(join(layout, "blobs", ...digest.split(":")));
    for (const name of readdirSync(join(layout, "blobs/sha256"))) {
      const bytes = readFileSync(join(layout, "blobs/sha256", name));
      this.registry.blobs.set(`sha256:${name}`, bytes);
      const text = bytes.toString();
      if (!text.startsWith('{"schemaVersion"')) continue;
      const { mediaType, layers = [] } = JSON.parse(text) as { mediaType: string; layers?: ManifestOfLayout[] };
      const program = layers.filter((layer) => layer.mediaType === RELEASE_TYPES.layer);
      for (const { digest } of program) this.#layers.add(digest);
      if (program.length > 0)
        this.#layerSizes.set(
          version,
          program.map(({ size }) => size),
        );
      this.registry.manifests.set(digestOf(bytes), { type: mediaType, bytes });
    }
    const { manifests } = JSON.parse(readFileSync(join(layout, "index.json"), "utf8")) as {
      manifests: ManifestOfLayout[];
    };
    const [index] = manifests;
    if (!index) throw new Error("the layout has no index");
    this.registry.manifests.set(version.replaceAll("+", "_"), { type: index.mediaType, bytes: read(index.digest) });
    return `${this.registry.host}/team/edge-agent:${version.replaceAll("+", "_")}`;
  }

  /** Bytes of the layers of a release that was pushed. */
  layerSizes(version: string): readonly number[] {
    return this.#layerSizes.get(version) ?? [];
  }

  /** Asks for an update as the link does. */
  update(id: string, request: object, options: DeployOptions = {}): void {
    this.updates.updateAgent(id, request, options);
  }

  events(id: string): EventContent[] {
    return this.store
      .pendingEvents(0, 1_000)
      .filter(({ deploymentId }) => deploymentId === id)
      .map(({ event }) => event);
  }

  /** Waits for the final event. Moves the clock only once the release is handed over: before that, the network has its own time. */
  async ended(id: string): Promise<EventContent> {
    return await this.until("the update to end", () => this.events(id).find(({ status }) => status !== "Running"));
  }

  async handedOver(id: string): Promise<UpdateRequest> {
    return await this.until("the release to be handed over", () =>
      this.store.deployment(id)?.agentUpdate?.handedOver ? this.request : undefined,
    );
  }

  async until<T>(what: string, look: () => T): Promise<Exclude<T, undefined | null | false>> {
    return await waitFor(what, async () => {
      const pending = this.store.deployments().filter(({ outcome }) => outcome === "pending");
      if (pending.some(({ agentUpdate }) => agentUpdate?.handedOver)) await this.clock.advance(2_000);
      return look();
    });
  }

  /** The request that lies before the updater. */
  get request(): UpdateRequest | undefined {
    const path = this.device.path("state/agent-update/request.json");
    return existsSync(path) ? parseRequest(readFileSync(path)) : undefined;
  }

  /** What the agent has logged about a deployment, line by line. */
  logged(id: string): Record<string, unknown>[] {
    const lines = this.#log.text().split("\n").filter(Boolean);
    return lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ deployment }) => deployment === id);
  }

  /** Ends the agent's process, and starts the version that the launcher starts. @returns it */
  async restart(): Promise<string> {
    await this.updates[Symbol.asyncDispose]();
    const version = await this.#startVersion();
    this.#resume(version);
    return version;
  }

  /**
   * Ends the agent's process, and changes what it has stored. Starts a version as the launcher does, again and again, until one can
   * open its store. @returns the versions that were started
   */
  async restartAfter(change: () => void): Promise<string[]> {
    await this.updates[Symbol.asyncDispose]();
    this.store[Symbol.dispose]();
    change();
    const started: string[] = [];
    for (;;) {
      const version = await this.#startVersion();
      started.push(version);
      try {
        this.#opened = this.#openStore(version);
      } catch (error) {
        if (error instanceof StoreError && started.length < MAX_STARTS) continue;
        throw error;
      }
      this.#resume(version);
      return started;
    }
  }

  async #startVersion(): Promise<string> {
    const version = await this.device.start();
    if (version !== "package") writeFileSync(this.#programOf(version), "");
    return version;
  }

  #resume(version: string): void {
    this.updates = new AgentUpdates(this.#servicesOf(version));
    this.updates.resume();
  }

  #openStore(version: string): OpenedStore {
    const places = { releasesFolder: this.device.path("releases"), program: this.#programOf(version) };
    const { logger } = captureLogText();
    const directory = this.device.path("state");
    const migrations = this.migrations(version);
    const trial = storeOnTrial(places);
    const opened = openStore({ directory, clock: this.clock, logger, bootId: "boot", trial, migrations });
    // As if the apps had been found by their containers at once.
    opened.rebuild.clear();
    return opened;
  }

  #programOf(version: string): string {
    return version === "package"
      ? this.device.path("package/edge-agent.mjs")
      : this.device.path("releases", version, "edge-agent.mjs");
  }

  #servicesOf(running: string): UpdateServices {
    const { device, clock, store } = this;
    const { logger } = this.#log;
    const versions = {
      packageFolder: device.path("package"),
      releasesFolder: device.path("releases"),
      stateDir: device.path("state"),
      program: this.#programOf(running),
      architecture: "amd64",
      ...this.services.versions,
    };
    const registry = createRegistryClient({
      clock,
      userAgent: "edge-agent/test",
      trust: () => Promise.resolve({ insecure: true, secureContext: undefined, authHosts: undefined }),
    });
    const parts = new PartStore(device.path("state/parts"));
    const fetching = {
      registry,
      parts,
      rules: { clock, random, bounds: OPTIONS, stallMs: 60_000, rate: () => undefined },
    };
    return {
      store: this.services.store ?? store,
      versions,
      source: {
        registry,
        blobs: new BlobDownloader({ ...fetching, makeRoom: () => Promise.resolve(false) }),
        locate: ({ image = "" }) => Promise.resolve({ reference: image, auth: undefined }),
        readKeys: () => readTrustedKeys(keysFolder(versions), process.getuid?.() ?? 0),
        ...this.services.source,
      },
      bounds: {
        gate: OPEN_GATE,
        slots: new Semaphore(1),
        ledger: { count: (traffic) => this.traffic.push(traffic) },
        attempts: 1,
        maxBytes: undefined,
        freeBytes: () => Promise.resolve(undefined),
        ...this.services.bounds,
      },
      isWorking: () => this.isWorking,
      settings: { mayDowngrade: false, trialS: 900 },
      clock,
      random,
      logger,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.updates[Symbol.asyncDispose]();
    this.store[Symbol.dispose]();
    await this.#owned[Symbol.asyncDispose]();
  }
}
