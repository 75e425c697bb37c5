import { join } from "node:path";
import { type FillOptions, fillPart } from "../../../src/agent/download/fill-part.ts";
import type { Part } from "../../../src/agent/download/part.ts";
import { PartStore } from "../../../src/agent/download/part-store.ts";
import type { FetchInterruption } from "../../../src/agent/download/ports.ts";
import { Throttle } from "../../../src/agent/download/throttle.ts";
import { createRegistryClient } from "../../../src/agent/registry/oci-client.ts";
import type { Descriptor, RegistryClient } from "../../../src/agent/registry/registry.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { bigImage } from "../images.ts";
import type { Layer } from "../images/image.ts";
import { Registry } from "../registry.ts";
import { tempDir } from "../temp-dir.ts";

const REPOSITORY = "team/big";

/** Records the events of a fetch. */
export class FetchLog {
  received = 0;
  drops = 0;
  readonly troubles: FetchInterruption[] = [];

  get cuts(): number {
    return this.troubles.filter(({ kind }) => kind === "cut").length;
  }
}

/** A client for test registries, which have no TLS. */
export function plainClient(): RegistryClient {
  return createRegistryClient({
    clock: systemClock,
    trust: async () => ({ insecure: true }),
    userAgent: "edge-agent/test",
  });
}

/** A registry with one large layer, and a directory to download it to. */
export class LayerRig implements AsyncDisposable {
  readonly registry: Registry;
  readonly layer: Layer;
  readonly directory: string;
  readonly parts: PartStore;
  readonly #owned: AsyncDisposableStack;

  private constructor(registry: Registry, layer: Layer, directory: string, owned: AsyncDisposableStack) {
    this.registry = registry;
    this.layer = layer;
    this.directory = directory;
    this.parts = new PartStore(join(directory, "downloads"));
    this.#owned = owned;
  }

  static async start(megabytes: number): Promise<LayerRig> {
    await using owned = new AsyncDisposableStack();
    const registry = owned.use(await Registry.start());
    const image = await bigImage(megabytes);
    await registry.push(image, `${REPOSITORY}:1`);
    const layer = image.layers.toSorted((a, b) => b.compressed.length - a.compressed.length)[0];
    if (!layer) throw new Error("the image has no layers");
    const { path } = owned.use(await tempDir());
    return new LayerRig(registry, layer, path, owned.move());
  }

  get blob(): Descriptor {
    const { digest, compressed } = this.layer;
    return { digest, size: compressed.length, mediaType: "application/octet-stream" };
  }

  /** Fetches the layer from a host that leads to the registry, into the given part or one it leases. */
  async fetch(host: string, changes: Partial<FillOptions> = {}, log: FetchLog = new FetchLog()): Promise<FetchLog> {
    await using held = await this.parts.lease(this.blob);
    await this.fill(held.part, host, changes, log);
    return log;
  }

  async fill(part: Part, host: string, changes: Partial<FillOptions> = {}, log: FetchLog = new FetchLog()) {
    const client = plainClient();
    await fillPart(part, {
      clock: systemClock,
      random: () => 0.5,
      bounds: { patienceMs: 20_000, baseMs: 20, maxMs: 200 },
      stallMs: 10_000,
      throttle: new Throttle(systemClock, () => undefined),
      open: (offset, signal) => {
        return client.openBlob({ registry: host, repository: REPOSITORY }, this.blob, { offset, signal });
      },
      onReceived: (bytes) => void (log.received += bytes),
      onAppended: () => {},
      onInterruption: (trouble) => void log.troubles.push(trouble),
      onDropped: () => void log.drops++,
      signal: AbortSignal.timeout(240_000),
      ...changes,
    });
  }

  /** Whether the layer on disk is complete and correct. */
  async isThere(): Promise<boolean> {
    await using held = await this.parts.lease(this.blob);
    return held.part.isVerified;
  }

  /** Removes what was downloaded. */
  async clear(): Promise<void> {
    await this.parts.remove([this.blob.digest]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}
