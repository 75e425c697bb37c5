import { buffer } from "node:stream/consumers";
import { createGzip } from "node:zlib";

/** A file of an archive. */
export interface BundleFile {
  /** Path within the archive. */
  readonly name: string;
  readonly content: string;
}

/** A gzipped tar archive of the files, below one folder. @param nowMs time of day the files get */
export async function archive(folder: string, files: readonly BundleFile[], nowMs: number): Promise<Buffer> {
  // Loaded when it is needed: the daemon shares this program and never makes one.
  const { pack } = await import("tar-stream");
  const tar = pack();
  for (const { name, content } of files) {
    tar.entry({ name: `${folder}/${name}`, mode: 0o600, mtime: new Date(nowMs) }, content);
  }
  tar.finalize();
  return await buffer(tar.pipe(createGzip()));
}
