import type { HealthcheckTimes } from "../../../src/agent/core/app/container-status.ts";
import type { ImageFacts, ImagePath, ImageSummary, PullProgress } from "../../../src/agent/engine/engine.ts";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import { createHash } from "node:crypto";
import { pack } from "tar-stream";
import { imageAddress } from "../../../src/agent/registry/address.ts";
import type { Clock } from "../../../src/lib/clock.ts";

/** How containers of a fake image behave. Times are milliseconds of the engine's clock after each start. */
export interface FakeBehaviour {
  /** Absent: stays up. */
  readonly exit?: { readonly code: number; readonly afterMs: number; readonly oomKilled?: boolean };
  /** Absent: no health check. `afterMs` absent: stays `starting`. */
  readonly health?: {
    readonly becomes: "healthy" | "unhealthy";
    readonly afterMs?: number;
    readonly output?: string;
    /** Output while it is `starting`. */
    readonly failing?: string;
    /** Times of the image's own check. */
    readonly times?: HealthcheckTimes;
  };
  /** How long the app takes to end after SIGTERM. Default 0. */
  readonly endsAfterMs?: number;
  /** Lines written by each run. */
  readonly logs?: readonly string[];
  /** Ports the app listens on in the host's network. */
  readonly hostNetworkPorts?: readonly number[];
}

export interface FakeImage {
  readonly behaviour?: FakeBehaviour;
  /** Inherited by its containers, whose own labels take precedence. */
  readonly labels?: Readonly<Record<string, string>>;
  /** What it has at absolute paths. Default: nothing. */
  readonly files?: Readonly<Record<string, ImagePath>>;
  /** Default: root. */
  readonly user?: string;
  /** Sizes of the layers in bytes. Default: two layers of 1 MB and 3 MB. */
  readonly layers?: readonly number[];
  /** Default: the one of the fake engine. */
  readonly architecture?: string;
  /** Milliseconds of the engine's clock that pulling takes, in ten steps. Default 0. */
  readonly pullMs?: number;
}

/** Sizes of the layers of an image. */
export function layersOf(image: FakeImage): readonly number[] {
  return image.layers ?? [1_000_000, 3_000_000];
}

/** Diff ids of the layers. Layers of the same size and position are equal. */
export function diffIdsOf(image: FakeImage): string[] {
  return layersOf(image).map((size, index) => digestOf(`diff ${index} ${size}`));
}

/** Digests of the layers in a registry. */
export function digestsOf(image: FakeImage): string[] {
  return layersOf(image).map((size, index) => digestOf(`layer ${index} ${size}`));
}

/** The image's manifest in a registry, as text. */
export function manifestOf(image: FakeImage): string {
  return JSON.stringify({ schemaVersion: 2, ...image });
}

export function manifestDigestOf(image: FakeImage): string {
  return digestOf(manifestOf(image));
}

/** Normalized repository name of a reference. */
function repositoryOf(reference: string): string {
  const { registry, repository } = imageAddress(reference);
  return `${registry}/${repository}`;
}

function digestOf(text: string): string {
  return `sha256:${sha256Hex(text)}`;
}

/** SHA-256 in hexadecimal. */
export function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The engine's facts about an image. Only published images have a digest. */
export function imageFacts(
  reference: string,
  image: FakeImage,
  { isPublished, architecture }: { readonly isPublished: boolean; readonly architecture: string },
): ImageFacts {
  const repository = reference.replace(/@.*$/, "").replace(/:[^:/]*$/, "");
  return {
    // The digest of its configuration, see fake-registry.ts.
    id: digestOf(JSON.stringify(image)),
    architecture: image.architecture ?? architecture,
    os: "linux",
    size: layersOf(image).reduce((sum, layer) => sum + layer, 0),
    repoDigests: isPublished ? [`${repository}@${manifestDigestOf(image)}`] : [],
    user: image.user ?? "",
  };
}

/** Finds a published image by a reference with a digest. @param anywhere also in another repository */
export function findByDigest(
  registry: ReadonlyMap<string, FakeImage | EngineError>,
  reference: string,
  anywhere: boolean,
): FakeImage | undefined {
  const [repository = "", digest] = reference.split("@");
  if (digest === undefined) return undefined;
  for (const [name, image] of registry) {
    if (image instanceof EngineError) continue;
    if (!anywhere && repositoryOf(name) !== repositoryOf(`${repository}:1`)) continue;
    if (manifestDigestOf(image) === digest) return image;
  }
  return undefined;
}

/** The file, with its content if that is not too large. */
export function limitedContent(file: ImagePath | undefined, maxBytes: number = 0): ImagePath | undefined {
  return file && { ...file, content: (file.content?.length ?? 0) <= maxBytes ? file.content : undefined };
}

/** The image's file system as a tar archive. */
export function archiveOf({ files = {} }: FakeImage): AsyncIterable<Uint8Array> {
  const archive = pack();
  for (const [path, { content }] of Object.entries(files)) {
    if (content) archive.entry({ name: path.replace(/^\//, "") }, Buffer.from(content));
  }
  archive.finalize();
  return archive as AsyncIterable<Uint8Array>;
}

const PULL_STEPS = 10;

/** Downloads the layers of an image, in steps that are reported. */
export async function download(
  image: FakeImage,
  onProgress: (progress: PullProgress) => void,
  signal: AbortSignal,
  clock: Clock,
): Promise<void> {
  const total = layersOf(image).reduce((sum, layer) => sum + layer, 0);
  for (let step = 1; step <= PULL_STEPS; step++) {
    if (image.pullMs) await clock.sleep(image.pullMs / PULL_STEPS, signal);
    signal.throwIfAborted();
    onProgress({ done: Math.floor((total * step) / PULL_STEPS), total });
  }
}

/** Returns the images that have these names, as an engine lists them. */
export function summaries(all: readonly { readonly name: string; readonly facts: ImageFacts }[]): ImageSummary[] {
  const ids = [...new Set(all.map(({ facts }) => facts.id))];
  return ids.map((id) => {
    const own = all.filter(({ facts }) => facts.id === id);
    const repoDigests = own.flatMap(({ facts }) => facts.repoDigests);
    const names = own.map(({ name }) => name).filter((name) => name !== id);
    return { id, names, repoDigests, size: own[0]?.facts.size ?? 0 };
  });
}
