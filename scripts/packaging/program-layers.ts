import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { pack } from "tar-stream";
import type { LayerRecord } from "../../src/lib/release/held-layers.ts";
import { digestOf } from "../../src/lib/release/read-release.ts";
import { LIBRARIES } from "../bundling/runtime.ts";
import type { PackagedFile } from "./layout.ts";

/** Part of the program, as a layer of a release before it is compressed. */
export interface ProgramLayer extends LayerRecord {
  readonly tar: Buffer;
  /** Bytes of its files. */
  readonly unpackedBytes: number;
}

/**
 * Makes the layers of a program one after the other: Node.js, which stays the same for many releases, and the program. A device
 * fetches only those that it does not have. The same files give the same layers.
 *
 * @param files those of `programFiles`
 */
export async function* programLayers(files: readonly PackagedFile[]): AsyncGenerator<ProgramLayer> {
  const { runtime = [], program = [] } = Object.groupBy(files, ({ to }) =>
    to === "node" || to.startsWith(`${LIBRARIES}/`) ? "runtime" : "program",
  );
  for (const layer of [runtime, program]) yield await toLayer(layer);
}

async function toLayer(files: readonly PackagedFile[]): Promise<ProgramLayer> {
  const contents = await Promise.all(
    files.map(async ({ from, to, mode }) => ({ to, mode, content: await readFile(from) })),
  );
  const tar = await toTar(contents);
  return {
    tar,
    diffId: digestOf(tar),
    files: contents.map(({ to, content }) => ({ path: to, digest: digestOf(content) })),
    unpackedBytes: contents.reduce((sum, { content }) => sum + content.length, 0),
  };
}

async function toTar(
  files: readonly (Pick<PackagedFile, "to" | "mode"> & { readonly content: Buffer })[],
): Promise<Buffer> {
  const archive = pack();
  const written = buffer(archive);
  // A date would make each commit's layer another one. The updater does not set it.
  const mtime = new Date(0);
  const folders = new Set(files.flatMap(({ to }) => (to.includes("/") ? [to.slice(0, to.lastIndexOf("/"))] : [])));
  for (const name of folders) archive.entry({ name, type: "directory", mode: 0o755, mtime });
  for (const { to, mode, content } of files) archive.entry({ name: to, mode, mtime }, content);
  archive.finalize();
  return await written;
}
