import { chooseDownload, mayReadIndex } from "../../lib/layer-parts/decide.ts";
import { REQUEST_COST } from "../../lib/layer-parts/ranges.ts";
import { findIndexArtifact, type FoundIndex } from "../registry/artifacts.ts";
import { readBlob } from "../registry/blobs.ts";
import type { Descriptor } from "../../lib/registry/documents.ts";
import type { PlatformImage } from "../registry/images.ts";
import type { RegistrySession } from "../registry/session.ts";
import { adviceFor } from "./advice.ts";
import { costOfFiles, type FileCost } from "./file-costs.ts";
import { instructionsOf } from "./instructions.ts";
import { layerTar } from "./layer-tar.ts";
import { findLayout, type FoundLayout, type LayoutSource } from "./find-layout.ts";
import { readTarFiles } from "./tar-files.ts";

export interface LocatedImage {
  readonly session: RegistrySession;
  readonly image: PlatformImage;
}

/** What an update costs a device that has the old image and nothing else. Sizes in bytes, as they are on the wire. */
export interface UpdateCost {
  readonly platform: string;
  /** With whole layers, as `docker pull` fetches them. */
  readonly whole_bytes: number;
  /** By parts where that costs less. Without the overhead of requests. */
  readonly parts_bytes: number;
  /** Whether devices can fetch by parts now; otherwise `parts_bytes` is with the index that could be written. */
  readonly is_indexed: boolean;
  readonly layers: readonly LayerCost[];
  readonly advice: readonly string[];
}

export interface LayerCost {
  readonly digest: string;
  /** Instruction of the Dockerfile that made the layer, if the image says it. */
  readonly instruction: string | null;
  /** `here`: the old image has the layer. */
  readonly by: "here" | "parts" | "whole";
  readonly source: LayoutSource | null;
  readonly whole_bytes: number;
  readonly parts_bytes: number;
  /** Of `parts_bytes`: index and headers of the tar, which are never on the device. */
  readonly table_bytes: number;
  readonly files: number;
  /** Files whose contents the old image has. */
  readonly files_here: number;
  /** The files whose contents are fetched, largest first. */
  readonly fetched: readonly FileCost[];
}

/** Reads both images, and computes what a device would fetch, by the same decision as the device. Errors: exit codes 1, 3 to 5. */
export async function explainUpdate(update: {
  readonly before: LocatedImage;
  readonly after: LocatedImage;
}): Promise<UpdateCost> {
  const { before, after } = update;
  const here = new Set(before.image.config.rootfs.diff_ids);
  const instructions = instructionsOf(after.image.config);
  const isNew = after.image.config.rootfs.diff_ids.some((diffId) => !here.has(diffId));
  const held = isNew ? await heldContents(before) : new Set<string>();
  const index = await findIndexArtifact(after.session, after.image);
  const layers: LayerCost[] = [];
  for (const [position, layer] of after.image.layers.entries()) {
    const diffId = after.image.config.rootfs.diff_ids[position] ?? "";
    const instruction = instructions[position] ?? null;
    if (here.has(diffId)) layers.push(presentLayer(layer, instruction));
    else layers.push({ ...(await explainLayer(after.session, layer, diffId, held, index)), instruction });
  }
  const fetched = layers.filter(({ by }) => by !== "here");
  return {
    platform: after.image.platform,
    whole_bytes: fetched.reduce((sum, layer) => sum + layer.whole_bytes, 0),
    parts_bytes: fetched.reduce((sum, layer) => sum + layer.parts_bytes, 0),
    is_indexed: fetched.every(({ source, by }) => by === "whole" || source !== "computed"),
    layers,
    advice: adviceFor(layers, instructionsOf(before.image.config)),
  };
}

function presentLayer({ digest, size }: Descriptor, instruction: string | null): LayerCost {
  const sizes = { whole_bytes: size, parts_bytes: 0, table_bytes: 0, files: 0, files_here: 0 };
  return { digest, instruction, by: "here", source: null, ...sizes, fetched: [] };
}

/** Contents of all files of an image: what a device that has it can take from it. */
async function heldContents({ session, image }: LocatedImage): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  const seen = new Set<string>();
  for (const layer of image.layers) {
    if (seen.has(layer.digest)) continue;
    seen.add(layer.digest);
    for (const { content } of await readTarFiles(layerTar(readBlob(session, layer)))) held.add(content);
  }
  return held;
}

async function explainLayer(
  session: RegistrySession,
  layer: Descriptor,
  diffId: string,
  held: ReadonlySet<string>,
  index: FoundIndex | undefined,
): Promise<Omit<LayerCost, "instruction">> {
  const files = await readTarFiles(layerTar(readBlob(session, layer)));
  const filesHere = files.filter(({ content }) => held.has(content)).length;
  const found = await findLayout(session, layer, diffId, index);
  const facts = { digest: layer.digest, whole_bytes: layer.size, files: files.length, files_here: filesHere };
  const whole = { ...facts, by: "whole", source: null, parts_bytes: layer.size, table_bytes: 0, fetched: [] } as const;
  if (!found || !isRead(found, layer)) return { ...whole, fetched: costOfFiles(files, undefined, held) };
  const { layout, indexSize, packSize, source } = found;
  const isHeld = ({ digest }: { readonly digest: string }): boolean => held.has(digest);
  const question = { layout, layerSize: layer.size, packSize, isHeld, fetched: found.readRanges, cost: REQUEST_COST };
  const choice = chooseDownload(question);
  if (choice.by === "whole") {
    return { ...whole, source, parts_bytes: choice.bytes + indexSize, fetched: costOfFiles(files, layout, held) };
  }
  return {
    ...facts,
    by: "parts",
    source,
    parts_bytes: choice.bytes + indexSize,
    table_bytes: indexSize + (source === "zstd:chunked" ? 0 : layout.headers.length),
    fetched: costOfFiles(files, layout, held),
  };
}

/** Whether devices read the tables: a layer's own always, an index only where it is small against the layer. */
function isRead({ source, indexSize }: FoundLayout, layer: Descriptor): boolean {
  return source === "zstd:chunked" || mayReadIndex(indexSize, layer.size, REQUEST_COST);
}
