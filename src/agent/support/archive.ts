import { buffer } from "node:stream/consumers";
import { createGzip } from "node:zlib";

/** A file of an archive. */
export interface BundleFile {
  /** Path within the archive. */
  readonly name: string;
  readonly content: string;
}

/** Packs the files into a gzipped tar archive, below one folder. @param nowMs modification time of the files */
export async function archive(folder: string, files: readonly BundleFile[], nowMs: number): Promise<Buffer> {
  // Loaded on demand: the daemon, which is the same program, never needs it.
  const { pack } = await import("tar-stream");
  const tar = pack();
  for (const { name, content } of files) {
    tar.entry({ name: `${folder}/${name}`, mode: 0o600, mtime: new Date(nowMs) }, content);
  }
  tar.finalize();
  return await buffer(tar.pipe(createGzip()));
}
