import { createHash } from "node:crypto";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { pino } from "pino";
import { ContentIndex } from "../../../src/agent/contents/content-index.ts";
import { DeviceContents } from "../../../src/agent/contents/device-contents.ts";
import { ImagesInUse } from "../../../src/agent/contents/images-in-use.ts";
import { type ImagePlan, planImage } from "../../../src/agent/download/by-parts/image-plan.ts";
import { LayerFetch } from "../../../src/agent/download/layer-fetch.ts";
import { PartStore } from "../../../src/agent/download/part-store.ts";
import { Throttle } from "../../../src/agent/download/throttle.ts";
import type { Descriptor, OpenBlob, ResolvedImage } from "../../../src/agent/registry/registry.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import {
  type ArtifactBlob,
  LAYER_ANNOTATION,
  LAYER_INDEX_TYPE,
  LAYER_PACK_TYPE,
} from "../../../src/lib/layer-parts/index-artifact.ts";
import type { IndexedTar } from "../layer-parts/indexed-layer.ts";
import { inPieces } from "../layer-parts/tars.ts";

export interface MemoryLayer {
  /** As in the registry. */
  readonly blob: Buffer;
  readonly diffId: string;
  readonly mediaType?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface MemoryDeviceOptions {
  /** State directory of the agent. */
  readonly directory: string;
  /** Called for each request of a blob, and for each piece of its body. Returns whether the agent is killed there. */
  readonly onStep?: () => boolean;
}

/** A byte that the registry sends wrong. */
export interface WrongByte {
  readonly digest: string;
  readonly at: number;
  /** How often; default: for ever. */
  times?: number;
}

type FetchOptions = Parameters<typeof planImage>[0]["fetch"];

const PIECE_BYTES = 16 * 1024;

/**
 * An agent's downloads by parts with a registry and images in memory, without an engine: the files on flash are real. Make
 * another one in the same directory for what is there after a restart.
 */
export class MemoryDevice {
  readonly parts: PartStore;
  readonly inUse = new ImagesInUse();
  /** Bytes that came from the registry. */
  received = 0;
  /** Archives of the images on the device, by id. */
  readonly images = new Map<string, Buffer>();
  readonly wrong: WrongByte[] = [];
  readonly #blobs = new Map<string, Buffer>();
  readonly #artifact: ArtifactBlob[] = [];
  readonly #options: MemoryDeviceOptions;
  readonly #killed = new AbortController();

  constructor(options: MemoryDeviceOptions) {
    this.#options = options;
    this.parts = new PartStore(join(options.directory, "downloads"));
  }

  /** Puts an image with one layer into the registry. */
  publish({
    blob,
    diffId,
    annotations,
    mediaType = "application/vnd.oci.image.layer.v1.tar",
  }: MemoryLayer): ResolvedImage {
    const layer = this.#store(blob, { mediaType, annotations });
    const empty = this.#store(Buffer.from("{}"), { mediaType: "application/vnd.oci.image.config.v1+json" });
    return {
      reference: "registry.example.com/app:2",
      registry: "registry.example.com",
      repository: "app",
      digest: layer.digest,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      manifest: new Uint8Array(),
      config: empty,
      configBytes: Buffer.from("{}"),
      diffIds: [diffId],
      layers: [layer],
    };
  }

  /** Puts an index of the layer beside the image. */
  publishIndex({ layers }: ResolvedImage, { index, pack }: Pick<IndexedTar, "index" | "pack">): void {
    const annotations = { [LAYER_ANNOTATION]: layers[0]?.digest ?? "" };
    this.#artifact.push(
      this.#store(Buffer.from(index), { mediaType: LAYER_INDEX_TYPE, annotations }),
      this.#store(pack, { mediaType: LAYER_PACK_TYPE, annotations }),
    );
  }

  /** Takes over what another one's registry has. */
  shareBlobs(other: MemoryDevice): void {
    for (const [digest, blob] of other.#blobs) this.#blobs.set(digest, blob);
    this.#artifact.push(...other.#artifact);
  }

  /** Plans the download as the agent does. @param onWhole called with the reason where a layer is downloaded whole */
  async plan(image: ResolvedImage, onWhole: (reason: string) => void = () => {}, readsZstd = true): Promise<ImagePlan> {
    const logger = pino({ level: "silent" });
    return await planImage({
      image,
      auth: undefined,
      app: "app",
      layersPresent: 0,
      registry: {
        findArtifact: async () => ({ digest: "", blobs: this.#artifact, receivedBytes: 0 }),
        openBlob: async (_image, blob, { offset = 0, length }) => this.#open(blob, offset, length),
      },
      parts: this.parts,
      contents: this.#contents(),
      fetch: this.#fetch(),
      readsZstd: async () => readsZstd,
      onWhole,
      logger,
    });
  }

  /**
   * Downloads the image's layer, by parts where it is planned so. Resolves to its bytes as the engine gets them. Rejects with
   * what failed the layer.
   */
  async download(image: ResolvedImage): Promise<Buffer> {
    const got: Buffer[] = [];
    await this.downloadTo(image, (bytes) => void got.push(Buffer.from(bytes)));
    return Buffer.concat(got);
  }

  /** The same, with the bytes given to `receive`. */
  async downloadTo(image: ResolvedImage, receive: (bytes: Buffer) => void): Promise<void> {
    await using pull = await this.#pull(image);
    await pull.send(pull.fetch.layer(pull.diffId ?? pull.digest), receive);
  }

  /** Downloads the layer by parts, and whole if that fails. Resolves to its bytes, and why it came whole. */
  async downloadAnyway(image: ResolvedImage): Promise<{ readonly got: Buffer; readonly reason?: unknown }> {
    await using pull = await this.#pull(image);
    const { fetch, diffId, digest } = pull;
    const once = async (name: string): Promise<Buffer> => {
      for (;;) {
        const got: Buffer[] = [];
        const drops = pull.drops();
        try {
          await pull.send(fetch.layer(name), (bytes) => void got.push(Buffer.from(bytes)));
          return Buffer.concat(got);
        } catch (error) {
          // The engine pulls again.
          if (pull.drops() === drops) throw error;
        }
      }
    };
    if (diffId === undefined) return { got: await once(digest) };
    try {
      return { got: await once(diffId) };
    } catch (reason) {
      this.#killed.signal.throwIfAborted();
      fetch.giveUp(diffId);
      pull.plans.delete(diffId);
      return { got: await once(digest), reason };
    }
  }

  /** A pull of the image's layer. `diffId` is undefined if it is not planned by parts. */
  async #pull(image: ResolvedImage) {
    await using owned = new AsyncDisposableStack();
    const plan = owned.use(await this.plan(image));
    const plans = new Map([...plan.layers.values()].map((layer) => [layer.layout.diffId, layer]));
    let drops = 0;
    let failed = Promise.withResolvers<never>();
    failed.promise.catch(() => {});
    this.#killed.signal.addEventListener("abort", () => failed.reject(this.#killed.signal.reason));
    const contents = this.#contents();
    const { signal: _signal, onReceived, onAppended: _appended, onInterruption, ...rules } = this.#fetch();
    const fetch = owned.use(
      new LayerFetch({
        rules,
        parts: this.parts,
        layers: image.layers,
        plans,
        expectedBytes: undefined,
        source: {
          open: async (blob, { offset, length }) => this.#open(blob, offset, length),
          openImage: (id, signal) => contents.open(id, "app", signal),
          onLostImage: () => {},
        },
        makeRoom: async () => false,
        listener: {
          onReceived,
          onChange: () => {},
          onInterruption,
          onDropped: () => {
            drops++;
            failed.reject(new Error("wrong bytes were discarded"));
          },
          onFailure: (error) => failed.reject(error),
          onUnusableParts: (_diffId, error) => failed.reject(error),
        },
      }),
    );
    const [layer, diffId = ""] = [image.layers[0], image.diffIds[0]];
    const planned = plans.get(diffId);
    const digest = layer?.digest ?? "";
    const send = async (served: ReturnType<LayerFetch["layer"]>, receive: (bytes: Buffer) => void): Promise<void> => {
      failed = Promise.withResolvers<never>();
      failed.promise.catch(() => {});
      const size = plans.get(diffId)?.layout.size ?? layer?.size ?? 0;
      const to = new Writable({
        write: (bytes: Buffer, _encoding, done) => {
          receive(bytes);
          done();
        },
      });
      const gone = new AbortController();
      const options = { onWait: () => {}, onSent: () => {}, signal: gone.signal };
      try {
        await Promise.race([served.then((layer) => layer.send({ start: 0, end: size }, to, options)), failed.promise]);
      } finally {
        gone.abort();
      }
    };
    const kept = owned.move();
    return {
      fetch,
      plans,
      send,
      drops: () => drops,
      digest,
      diffId: planned && diffId,
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  }

  #contents(): DeviceContents {
    const { images } = this;
    const engine = {
      listImages: async () => [...images].map(([id, { length: size }]) => ({ id, size, names: [], repoDigests: [] })),
      exportImage: ({ image }: { readonly image: string }) =>
        inPieces(images.get(image) ?? Buffer.alloc(0), [64 * 1024]),
    };
    const { directory } = this.#options;
    const index = new ContentIndex(join(directory, "image-contents"), () => 0);
    const logger = pino({ level: "silent" });
    return new DeviceContents({
      engine,
      index,
      inUse: this.inUse,
      stateDir: directory,
      clock: systemClock,
      logger,
      collectYoung: () => {},
    });
  }

  #fetch(): FetchOptions {
    return {
      clock: systemClock,
      random: () => 0,
      bounds: { patienceMs: 240_000, baseMs: 1, maxMs: 2 },
      stallMs: 240_000,
      throttle: new Throttle(systemClock, () => undefined),
      onReceived: () => {},
      onAppended: () => {},
      onInterruption: () => {},
      signal: this.#killed.signal,
    };
  }

  #open({ digest }: Descriptor, offset: number, length = Infinity): OpenBlob {
    this.#step();
    const blob = this.#blobs.get(digest);
    if (!blob) throw new Error(`the registry does not have ${digest}`);
    const wanted = this.#sent(blob.subarray(offset, offset + length), digest, offset);
    const count = (bytes: number): void => void (this.received += bytes);
    const step = (): void => this.#step();
    async function* body(): AsyncGenerator<Buffer> {
      for (let at = 0; at < wanted.length; at += PIECE_BYTES) {
        const piece = wanted.subarray(at, at + PIECE_BYTES);
        count(piece.length);
        yield piece;
        step();
      }
    }
    const stream = Readable.from(body(), { objectMode: false });
    return {
      stream,
      status: offset === 0 && wanted.length === blob.length ? 200 : 206,
      offset,
      host: "registry.example.com",
    };
  }

  #sent(bytes: Buffer, digest: string, offset: number): Buffer {
    const sent = Buffer.from(bytes);
    for (const wrong of this.wrong) {
      const at = wrong.at - offset;
      if (wrong.digest !== digest || at < 0 || at >= sent.length || wrong.times === 0) continue;
      if (wrong.times !== undefined) wrong.times--;
      sent[at] = (sent[at] ?? 0) ^ 0xff;
    }
    return sent;
  }

  #step(): void {
    this.#killed.signal.throwIfAborted();
    if (this.#options.onStep?.() !== true) return;
    this.#killed.abort(new Error("killed"));
    this.#killed.signal.throwIfAborted();
  }

  #store(blob: Buffer, { mediaType, annotations }: Pick<Descriptor, "mediaType" | "annotations">): Descriptor {
    const digest = `sha256:${createHash("sha256").update(blob).digest("hex")}`;
    this.#blobs.set(digest, blob);
    return { mediaType, digest, size: blob.length, ...(annotations && { annotations }) };
  }
}
