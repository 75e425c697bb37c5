import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { YoungGarbage } from "../../lib/young-garbage.ts";
import { LABELS } from "../core/app/container.ts";
import type { Engine } from "../engine/engine.ts";
import type { ContentFile } from "./content-file.ts";
import type { ContentIndex } from "./content-index.ts";
import type { ImagesInUse } from "./images-in-use.ts";
import { kinship } from "./kinship.ts";
import { scanImage } from "./scan-image.ts";

export interface DeviceContentsOptions {
  readonly engine: Pick<Engine, "listImages" | "exportImage">;
  readonly index: ContentIndex;
  readonly inUse: ImagesInUse;
  /** State directory of the agent: it tells whose a helper is that a crash left behind. */
  readonly stateDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Collects young garbage at once; does nothing where that is not possible. */
  readonly collectYoung: () => void;
}

/** An image on the device, and what it contains. */
export interface ImageContents {
  readonly imageId: string;
  readonly contents: ContentFile;
}

/** Images that are looked at for one layer, those of the same repository first, then those of its path in other registries. */
const MAX_IMAGES = 8;
/** An engine that sends nothing of an image for this long is given up. */
const EXPORT_STALL_MS = 60_000;
/** Bytes on disk of the images that are read for the first time, for one pull. */
const MAX_READ_BYTES = 4_000_000_000;

/** Knows what the images of the engine contain. */
export class DeviceContents {
  readonly #options: DeviceContentsOptions;

  constructor(options: DeviceContentsOptions) {
    this.#options = options;
  }

  /** Whether there is any image on the device. */
  async hasImages(signal: AbortSignal): Promise<boolean> {
    return (await this.#options.engine.listImages(signal)).length > 0;
  }

  /**
   * Returns the contents of the images that are most likely to share some with an image of this repository. Reads an image
   * that is not in the index, which takes about a second for 100 MB. An image that cannot be read is left out.
   *
   * @param repository such as `docker.io/library/nginx`
   * @param app for which they are read
   */
  async load(repository: string, app: string, signal: AbortSignal): Promise<readonly ImageContents[]> {
    const { engine, index } = this.#options;
    const images = await engine.listImages(signal);
    index.retain(images.map(({ id }) => id));
    const closeness = new Map(
      images.map((image) => [image, kinship([...image.names, ...image.repoDigests], repository)]),
    );
    const ranked = images.toSorted((a, b) => (closeness.get(b) ?? 0) - (closeness.get(a) ?? 0));
    const loaded: ImageContents[] = [];
    let readBytes = 0;
    for (const { id, size } of ranked.slice(0, MAX_IMAGES)) {
      let contents = index.load(id);
      if (!contents && readBytes + size <= MAX_READ_BYTES) {
        readBytes += size;
        contents = await this.#scan(id, app, signal);
      }
      if (contents) loaded.push({ imageId: id, contents });
    }
    return loaded;
  }

  /** Keeps images from being cleaned up until disposed. */
  hold(imageIds: Iterable<string>): Disposable {
    return this.#options.inUse.hold(imageIds);
  }

  /** Opens the files of an image as an archive, for an app. */
  open(imageId: string, app: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { engine, stateDir, clock, collectYoung } = this.#options;
    const labels = { [LABELS.app]: app, [LABELS.stateDir]: stateDir };
    const archive = withStallLimit(engine.exportImage({ image: imageId, labels }, signal), clock, EXPORT_STALL_MS);
    return counted(archive, new YoungGarbage(collectYoung));
  }

  async #scan(imageId: string, app: string, signal: AbortSignal): Promise<ContentFile | undefined> {
    const { index, logger } = this.#options;
    try {
      const contents = await scanImage(this.open(imageId, app, signal));
      index.save(imageId, contents);
      return contents;
    } catch (error) {
      signal.throwIfAborted();
      logger.warn({ err: error, image: imageId }, "failed to read an image: its contents are not used for updates");
      return undefined;
    }
  }
}

async function* counted(archive: AsyncIterable<Uint8Array>, garbage: YoungGarbage): AsyncGenerator<Uint8Array> {
  for await (const chunk of archive) {
    garbage.received(chunk.length);
    yield chunk;
  }
}

/** Passes a stream on, and throws if a chunk takes longer than `ms` milliseconds. Time between two reads does not count. */
async function* withStallLimit<T>(source: AsyncIterable<T>, clock: Clock, ms: number): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  let hasStalled = false;
  try {
    for (;;) {
      const stalled = Promise.withResolvers<never>();
      using _limit = clock.timer(ms, () => {
        hasStalled = true;
        stalled.reject(new Error(`nothing came for ${ms} ms`));
      });
      const { done, value } = await Promise.race([iterator.next(), stalled.promise]);
      if (done === true) return;
      yield value;
    }
  } finally {
    // A stream that hangs does not end in time.
    const ended = iterator.return?.();
    // The stall is the error: how the stream ends later changes nothing.
    if (hasStalled) ended?.catch(() => {});
    else await ended;
  }
}
