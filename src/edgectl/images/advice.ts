import { formatBytes } from "../../lib/terminal/bytes.ts";
import type { LayerCost } from "./explain-update.ts";

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
