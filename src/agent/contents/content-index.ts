import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { removeAbandoned, writeAtomically } from "../../lib/write-atomically.ts";
import { ContentFile } from "./content-file.ts";

/** Bytes of all files of the index together. */
const MAX_INDEX_BYTES = 8 * 1024 * 1024;
const INDEX_FILE = /^([0-9a-f]{64})\.contents$/;

/**
 * What the images of the engine contain, as files on flash: one for each image, about 140 kB for 10,000 files. A file that is
 * lost or damaged is made again from the image. Nothing is synchronized with the engine: an image that is gone is noticed when
 * it is read.
 */
export class ContentIndex {
  readonly #directory: string;
  readonly #maxBytes: number;
  readonly #now: () => number;

  /** @param now milliseconds since the Unix epoch, to tell which file was used last */
  constructor(directory: string, now: () => number, maxBytes: number = MAX_INDEX_BYTES) {
    this.#directory = directory;
    this.#now = now;
    this.#maxBytes = maxBytes;
  }

  /** Returns what an image contains; `undefined` if that is not recorded. */
  load(imageId: string): ContentFile | undefined {
    const path = this.#pathOf(imageId);
    try {
      const contents = ContentFile.decode(readFileSync(path));
      if (!contents) rmSync(path, { force: true });
      else this.#touch(path);
      return contents;
    } catch {
      return undefined;
    }
  }

  /** Records what an image contains. Removes what was used least recently, if there is no room. Throws the system's error. */
  save(imageId: string, contents: ContentFile): void {
    const bytes = contents.encode();
    if (bytes.length > this.#maxBytes) return;
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    this.#makeRoom(this.#maxBytes - bytes.length);
    writeAtomically(this.#pathOf(imageId), bytes, { mode: 0o600 });
    this.#touch(this.#pathOf(imageId));
  }

  /** Removes what is recorded of images that the engine does not have, and what crashes have left. */
  retain(imageIds: readonly string[]): void {
    removeAbandoned(this.#directory);
    const kept = new Set(imageIds.map((id) => this.#pathOf(id)));
    for (const { path } of this.#files()) if (!kept.has(path)) rmSync(path, { force: true });
  }

  #touch(path: string): void {
    const seconds = this.#now() / 1000;
    utimesSync(path, seconds, seconds);
  }

  #makeRoom(maxBytes: number): void {
    let left = 0;
    for (const { path, size } of this.#files().toSorted((a, b) => b.usedAt - a.usedAt)) {
      left += size;
      if (left > maxBytes) rmSync(path, { force: true });
    }
  }

  #files(): { readonly path: string; readonly size: number; readonly usedAt: number }[] {
    try {
      const names = readdirSync(this.#directory).filter((name) => INDEX_FILE.test(name));
      return names.map((name) => {
        const path = join(this.#directory, name);
        const { size, mtimeMs } = statSync(path);
        return { path, size, usedAt: mtimeMs };
      });
    } catch {
      return [];
    }
  }

  #pathOf(imageId: string): string {
    return join(this.#directory, `${imageId.replace(/^sha256:/, "")}.contents`);
  }
}
