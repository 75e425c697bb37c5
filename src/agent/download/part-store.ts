import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { toDiskError } from "./download-error.ts";
import { type BlobRef, Part } from "./part.ts";

/** A part that is not leased. */
export interface IdlePart {
  readonly digest: string;
  /** Bytes on disk. */
  readonly bytes: number;
  /** Time of the last append: milliseconds since the Unix epoch, by a clock that may have been wrong. */
  readonly changedAt: number;
}

/** Keeps a part open until disposed. */
export interface PartLease extends AsyncDisposable {
  readonly part: Part;
}

interface Entry {
  readonly opened: Promise<Part>;
  users: number;
}

const PART_FILE = /^([0-9a-f]{64})\.part$/;

/** The directory of parts, one file per blob. Concurrent leases of a blob share one part. */
export class PartStore {
  readonly directory: string;
  readonly #entries = new Map<string, Entry>();

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Opens the part of a blob, created if missing. Rejects with a `DownloadError`. */
  async lease(blob: BlobRef): Promise<PartLease> {
    const entry = this.#entries.get(blob.digest) ?? { opened: this.#open(blob), users: 0 };
    this.#entries.set(blob.digest, entry);
    entry.users++;
    let isReleased = false;
    const release = async (): Promise<void> => {
      if (isReleased) return;
      isReleased = true;
      if (--entry.users > 0) return;
      this.#entries.delete(blob.digest);
      await entry.opened.then(
        (part) => part[Symbol.asyncDispose](),
        () => {},
      );
    };
    try {
      return { part: await entry.opened, [Symbol.asyncDispose]: release };
    } catch (error) {
      await release();
      throw error;
    }
  }

  /** Removes the parts of these blobs, except leased ones. */
  async remove(digests: readonly string[]): Promise<void> {
    for (const digest of digests) {
      if (!this.#entries.has(digest)) await rm(this.#pathOf(digest), { force: true });
    }
  }

  /** Returns the parts that are not leased; none when the directory cannot be read. */
  async idle(): Promise<IdlePart[]> {
    const names = await readdir(this.directory).catch(() => []);
    const found: IdlePart[] = [];
    for (const name of names) {
      const digest = `sha256:${PART_FILE.exec(name)?.[1] ?? ""}`;
      if (!PART_FILE.test(name) || this.#entries.has(digest)) continue;
      const facts = await stat(join(this.directory, name)).catch(() => undefined);
      if (facts) found.push({ digest, bytes: facts.blocks * 512, changedAt: facts.mtimeMs });
    }
    return found;
  }

  async #open(blob: BlobRef): Promise<Part> {
    try {
      await mkdir(this.directory, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw toDiskError(error, this.directory);
    }
    return Part.open(blob, this.directory, this.#pathOf(blob.digest));
  }

  #pathOf(digest: string): string {
    return join(this.directory, `${digest.slice("sha256:".length)}.part`);
  }
}
