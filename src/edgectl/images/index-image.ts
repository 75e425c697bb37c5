import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ArtifactBlob } from "../../lib/layer-parts/index-artifact.ts";
import { findIndexArtifact, pushIndexArtifact } from "../registry/artifacts.ts";
import { hasBlob, pushBlob } from "../registry/blobs.ts";
import type { PlatformImage } from "../registry/images.ts";
import type { RegistrySession } from "../registry/session.ts";
import { indexLayer, type LayerOutcome } from "./index-layer.ts";

/** What came of the index of one platform's image. Sizes in bytes. */
export interface ImageIndex {
  readonly platform: string;
  readonly manifest_digest: string;
  /** `present`: it was there before. `nothing`: no layer gains. */
  readonly result: "written" | "present" | "nothing";
  readonly index_digest: string | null;
  readonly layers: readonly IndexedLayerFacts[];
}

export interface IndexedLayerFacts {
  readonly digest: string;
  readonly size_bytes: number;
  readonly index_bytes: number | null;
  readonly pack_bytes: number | null;
  /** What an update costs that changes no content; `null` where that is not known. */
  readonly least_bytes: number | null;
  readonly left_out: string | null;
}

export interface IndexImagesOptions {
  readonly session: RegistrySession;
  readonly images: readonly PlatformImage[];
  /** Write indexes also where there are some. */
  readonly mustWrite: boolean;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onLayer: (layer: { readonly digest: string; readonly size: number }) => void;
}

/** Makes and pushes the index of each image. Layers that several platforms have are read once. Errors: exit codes 1, 3 and 5. */
export async function indexImages(options: IndexImagesOptions): Promise<readonly ImageIndex[]> {
  const directory = await mkdtemp(join(tmpdir(), "edgectl-index-"));
  try {
    const outcomes = new Map<string, LayerOutcome>();
    const results: ImageIndex[] = [];
    for (const image of options.images) results.push(await indexImage(options, image, outcomes, directory));
    return results;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function indexImage(
  options: IndexImagesOptions,
  image: PlatformImage,
  outcomes: Map<string, LayerOutcome>,
  directory: string,
): Promise<ImageIndex> {
  const { session, now, mustWrite, onLayer } = options;
  const facts = { platform: image.platform, manifest_digest: image.manifest.digest };
  const present = mustWrite ? undefined : await findPresent(session, image);
  if (present) return { ...facts, ...present };
  const blobs: ArtifactBlob[] = [];
  const done = new Set<string>();
  for (const [position, layer] of image.layers.entries()) {
    if (done.has(layer.digest)) continue;
    done.add(layer.digest);
    let outcome = outcomes.get(layer.digest);
    if (!outcome) {
      onLayer(layer);
      const diffId = image.config.rootfs.diff_ids[position] ?? "";
      outcome = await indexLayer(session, layer, diffId, join(directory, String(outcomes.size)));
      outcomes.set(layer.digest, outcome);
    }
    if (outcome.kind === "left_out") continue;
    await pushBlob(session, outcome.index.digest, outcome.indexBody);
    await pushBlob(session, outcome.pack.digest, outcome.packBody);
    blobs.push(outcome.index, outcome.pack);
  }
  const layers = image.layers.map((layer) => factsOf(layer, outcomes.get(layer.digest)));
  if (blobs.length === 0) return { ...facts, result: "nothing", index_digest: null, layers };
  // Last, so that a list never names an artifact whose blobs are not there.
  const digest = await pushIndexArtifact(session, { image, blobs, now: now() });
  return { ...facts, result: "written", index_digest: digest, layers };
}

/** The index that the image has, unless the registry has lost a part of it. */
async function findPresent(
  session: RegistrySession,
  image: PlatformImage,
): Promise<Pick<ImageIndex, "result" | "index_digest" | "layers"> | undefined> {
  const found = await findIndexArtifact(session, image);
  const isOfImage = image.layers.some(({ digest }) => found?.layers.has(digest));
  if (!found || !isOfImage) return undefined;
  for (const { index, pack } of found.layers.values()) {
    for (const { digest } of [index, pack]) if (!(await hasBlob(session, digest))) return undefined;
  }
  const layers = image.layers.map((layer) => {
    const { index, pack } = found.layers.get(layer.digest) ?? {};
    return {
      digest: layer.digest,
      size_bytes: layer.size,
      index_bytes: index?.size ?? null,
      pack_bytes: pack?.size ?? null,
      least_bytes: null,
      left_out: null,
    };
  });
  return { result: "present", index_digest: found.digest, layers };
}

function factsOf(
  { digest, size }: PlatformImage["layers"][number],
  outcome: LayerOutcome | undefined,
): IndexedLayerFacts {
  const isIndexed = outcome?.kind === "indexed";
  return {
    digest,
    size_bytes: size,
    index_bytes: isIndexed ? outcome.index.size : null,
    pack_bytes: isIndexed ? outcome.pack.size : null,
    least_bytes: isIndexed ? outcome.leastBytes : null,
    left_out: outcome?.kind === "left_out" ? (outcome.reason ?? outcome.why) : null,
  };
}
