import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { extract } from "tar-stream";
import { boundHeaders } from "../../lib/bounded-tar-headers.ts";
import { digestOfHash } from "../../lib/layer-parts/content-digest.ts";
import { LayoutError } from "../../lib/layer-parts/layer-layout.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

/** A regular file of a layer that has a content. */
export interface TarFile {
  /** As in the tar, without a leading `./` or `/`. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Digest of the content. */
  readonly content: string;
}

/** Entries of a layer; more are an error. */
const MAX_ENTRIES = 1_000_000;

/** Lists the files of a layer's tar that are not empty, in its order. Errors: exit code 1 if it is none. */
export async function readTarFiles(tar: AsyncIterable<Uint8Array>): Promise<readonly TarFile[]> {
  const files: TarFile[] = [];
  const source = Readable.from(tar, { objectMode: false });
  const entries = boundHeaders(extract());
  let failure: unknown;
  source.once("error", (error) => {
    failure = error;
    entries.destroy(error);
  });
  source.pipe(entries);
  try {
    for await (const entry of entries) {
      const { name, size, type } = entry.header;
      if ((type !== "file" && type !== "contiguous-file") || size === 0) {
        entry.resume();
        continue;
      }
      if (files.length >= MAX_ENTRIES) throw new LayoutError(`it has more than ${MAX_ENTRIES} files`);
      const hash = createHash("sha256");
      for await (const chunk of entry) hash.update(chunk as Uint8Array);
      files.push({ path: name.replace(/^(?:\.?\/)+/, ""), size, content: digestOfHash(hash) });
    }
    return files;
  } catch (error) {
    const cause = failure ?? error;
    if (cause instanceof Failure) throw cause;
    const reason = cause instanceof Error ? cause.message : "error";
    throw new Failure(`A layer cannot be read: ${reason}.`, { exitCode: EXIT.failed, cause });
  } finally {
    source.destroy();
    entries.destroy();
  }
}
