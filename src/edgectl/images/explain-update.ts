import type { ImageConfig } from "../registry/documents.ts";
import { chooseDownload, mayReadIndex, missingParts } from "../../lib/layer-parts/decide.ts";
import type { LayerLayout } from "../../lib/layer-parts/layer-layout.ts";
import { layerTar, readTarFiles, type TarFile } from "./tar-files.ts";
import { REQUEST_COST } from "../../lib/layer-parts/ranges.ts";
import { findIndexArtifact, type FoundIndex } from "../registry/artifacts.ts";
import { readBlob } from "../registry/blobs.ts";
import type { Descriptor } from "../../lib/registry/documents.ts";
import type { PlatformImage } from "../registry/images.ts";
import type { RegistrySession } from "../registry/session.ts";
import { findLayout, type FoundLayout, type LayoutSource } from "./find-layout.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";

const MAX_LENGTH = 2_000;

/** Returns the Dockerfile's instruction for each layer, as far as the history of the image has it. */
export function instructionsOf({ history, rootfs }: ImageConfig): readonly (string | undefined)[] {
  const made = history.filter((entry) => entry.empty_layer !== true);
  // A history of another length says nothing about which layer is which.
  if (made.length !== rootfs.diff_ids.length) return rootfs.diff_ids.map(() => undefined);
  return made.map((entry) => (entry.created_by === undefined ? undefined : toInstruction(entry.created_by)));
}

/** Turns what builders write into the line of the Dockerfile. */
function toInstruction(createdBy: string): string {
  const text = createdBy
    .slice(0, MAX_LENGTH)
    .replace(/\s*# buildkit$/, "")
    .replace(/^\/bin\/sh -c #\(nop\)\s+/, "")
    .replace(/^RUN (?:\|\d+ (?:\S+=\S* )*)?\/bin\/sh -c /, "RUN ")
    .replace(/^(?:\|\d+ (?:\S+=\S* )*)?\/bin\/sh -c /, "RUN ")
    .replaceAll(/\s+/g, " ")
    .trim();
  return text.replace(/^(COPY|ADD) (?:file|dir|multi):([0-9a-f]{12})[0-9a-f]* in /, "$1 $2… ");
}

/** A file whose content is not on the device. */
export interface FileCost {
  readonly path: string;
  /** Bytes of the file. */
  readonly size_bytes: number;
  /** Bytes of it on the wire by parts; `null` where the layer cannot be fetched so. */
  readonly parts_bytes: number | null;
}

/**
 * Returns the files whose contents a device fetches, the largest first. A content that several files have counts for the first.
 *
 * @param layout `undefined` if the layer has none
 * @param held digests of the contents that the device has
 */
function costOfFiles(
  files: readonly TarFile[],
  layout: LayerLayout | undefined,
  held: ReadonlySet<string>,
): readonly FileCost[] {
  const isHeld = ({ digest }: { readonly digest: string }): boolean => held.has(digest);
  const costs = new Map<string, number>();
  const seen = new Set<string>();
  for (const content of layout?.contents() ?? []) {
    if (costs.has(content.digest)) continue;
    let bytes = 0;
    for (const { digest, length } of missingParts(content, isHeld)) {
      if (seen.has(digest)) continue;
      seen.add(digest);
      bytes += length;
    }
    costs.set(content.digest, bytes);
  }
  const listed = new Set<string>();
  const missing: FileCost[] = [];
  for (const { path, size, content } of files) {
    if (held.has(content) || listed.has(content)) continue;
    listed.add(content);
    // Contents of a few bytes stand among the headers.
    missing.push({ path, size_bytes: size, parts_bytes: layout ? (costs.get(content) ?? 0) : null });
  }
  const rank = (file: FileCost): number => file.parts_bytes ?? file.size_bytes;
  return missing.toSorted((one, other) => rank(other) - rank(one));
}

interface LocatedImage {
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

/** Files that builds leave behind and that change with each build. */
const LEFTOVERS: readonly { readonly pattern: RegExp; readonly what: string; readonly remedy: string }[] = [
  {
    pattern: /(?:^|\/)\.npm\/|^root\/\.cache\/|^home\/[^/]+\/\.cache\/|(?:^|\/)node_modules\/\.cache\//,
    what: "caches of package managers",
    remedy: "use RUN --mount=type=cache, or remove them in the same RUN",
  },
  {
    pattern: /^var\/(?:lib\/apt\/lists|cache\/apt|cache\/debconf|cache\/ldconfig|log)\//,
    what: "apt's lists, caches and logs",
    remedy: "end the RUN with rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/*",
  },
  { pattern: /(?:^|\/)__pycache__\//, what: "compiled Python files", remedy: "set PYTHONDONTWRITEBYTECODE=1" },
  { pattern: /(?:^|\/)\.git\//, what: "the repository's history", remedy: "list .git in .dockerignore" },
  { pattern: /^tmp\//, what: "temporary files", remedy: "remove them in the same RUN" },
];
const ARCHIVE = /\.(?:zip|jar|war|tgz|tar\.gz|gz|xz|zst|bz2|asar|whl|7z)$/;
/** Less is not worth a sentence: bytes. */
const MIN_ADVICE_BYTES = 20_000;

/**
 * Returns what in the Dockerfile makes an update large, one sentence each.
 *
 * @param before instructions of the old image's layers
 */
export function adviceFor(layers: readonly LayerCost[], before: readonly (string | undefined)[]): readonly string[] {
  const changed = layers.filter(({ by }) => by !== "here");
  return [
    ...needlessLayers(changed),
    ...leftovers(changed),
    ...archives(changed),
    ...firstChange(layers, before),
    ...copies(changed),
  ];
}

/** Layers that were built again and have the same contents. */
function needlessLayers(changed: readonly LayerCost[]): string[] {
  return changed
    .filter(
      ({ files, files_here: here, whole_bytes: bytes }) => files > 0 && here === files && bytes > MIN_ADVICE_BYTES,
    )
    .map(({ instruction, files, whole_bytes: bytes }) => {
      const name = quoted(instruction);
      return `${name} has the same contents as before in all ${files} files, and only new times or owners: whole, it costs ${formatBytes(bytes)} for nothing. Keep the layer in the build cache, or build with SOURCE_DATE_EPOCH and rewrite-timestamp=true.`;
    });
}

function leftovers(changed: readonly LayerCost[]): string[] {
  return LEFTOVERS.flatMap(({ pattern, what, remedy }) => {
    return changed.flatMap(({ fetched, instruction }) => {
      const bytes = costOf(fetched.filter(({ path }) => pattern.test(path)));
      return bytes < MIN_ADVICE_BYTES
        ? []
        : [`${quoted(instruction)} leaves ${what}, ${formatBytes(bytes)}: ${remedy}.`];
    });
  });
}

function archives(changed: readonly LayerCost[]): string[] {
  return changed.flatMap(({ fetched }) => {
    const found = fetched.filter((file) => ARCHIVE.test(file.path) && costOf([file]) >= MIN_ADVICE_BYTES);
    if (found.length === 0) return [];
    const more = found.length > 1 ? ` and ${found.length - 1} more` : "";
    return [
      `${found[0]?.path}${more} is compressed: a small change inside makes all of it new, ${formatBytes(costOf(found))}. Unpack it in the image.`,
    ];
  });
}

/** The first layer that is new, if what follows has the same instructions: they were built again because of it. */
function firstChange(layers: readonly LayerCost[], before: readonly (string | undefined)[]): string[] {
  const first = layers.findIndex(({ by }) => by !== "here");
  if (first === -1) return [];
  const again = layers.slice(first + 1).filter(({ by, instruction }) => {
    return by !== "here" && instruction !== null && before.includes(instruction);
  });
  const bytes = again.reduce((sum, layer) => sum + layer.whole_bytes, 0);
  if (bytes < MIN_ADVICE_BYTES) return [];
  const what = again.length === 1 ? "1 layer" : `${again.length} layers`;
  return [
    `${quoted(layers[first]?.instruction ?? null)} is the first that changed, and ${what} after it were built again, ${formatBytes(bytes)} whole. Put what changes often last.`,
  ];
}

/** Files that the image has already, in another layer: `chown` and `chmod` copy what they touch. */
function copies(changed: readonly LayerCost[]): string[] {
  return changed
    .filter(({ instruction, whole_bytes: bytes }) => {
      return bytes >= MIN_ADVICE_BYTES && /^RUN .*\b(?:chown|chmod) -R\b/.test(instruction ?? "");
    })
    .map(
      ({ instruction }) => `${quoted(instruction)} copies every file it touches. Use COPY --chown or --chmod instead.`,
    );
}

function costOf(files: LayerCost["fetched"]): number {
  return files.reduce((sum, { parts_bytes: bytes, size_bytes: size }) => sum + (bytes ?? size), 0);
}

function quoted(instruction: string | null): string {
  if (instruction === null) return "A layer";
  return `"${instruction.length > 60 ? `${instruction.slice(0, 59)}…` : instruction}"`;
}
