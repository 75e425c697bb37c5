import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** A regular file with content of an exported image. Its content must be read before the next file is taken. */
export interface ExportedFile {
  /** 0 for the first. */
  readonly number: number;
  readonly size: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** Yields the files with content of an archive, in its order. Leaving the loop ends the archive. */
export async function* exportedFiles(archive: AsyncIterable<Uint8Array>): AsyncGenerator<ExportedFile> {
  // Loaded with the first use only.
  const { extract } = await import("tar-stream");
  const entries = extract();
  const source = Readable.from(archive, { objectMode: false });
  // An error of the archive ends the loop below with it.
  pipeline(source, entries).catch(() => {});
  let number = 0;
  try {
    for await (const entry of entries) {
      const { type, size } = entry.header;
      if ((type === "file" || type === "contiguous-file") && size > 0) {
        yield { number: number++, size, content: entry as AsyncIterable<Uint8Array> };
      }
      // What was not read of it is skipped.
      entry.resume();
    }
  } finally {
    entries.destroy();
    source.destroy();
  }
}
