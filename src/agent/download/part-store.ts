import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { toDiskError } from "./download-error.ts";
import { type BlobRef, Part } from "./part.ts";

/** A part that nobody works on at the moment. */
export interface IdlePart {
  readonly digest: string;
  /** Bytes on disk. */
  readonly bytes: number;
  /** When it was last added to: milliseconds since the Unix epoch, by a clock that may have been wrong. */
  readonly changedAt: number;
}

/** A part in use, until disposed. */
export interface PartLease extends AsyncDisposable {
  readonly part: Part;
}

interface Entry {
  readonly opened: Promise<Part>;
  users: number;
}

const FILE = /^([0-9a-f]{64})\.part$/;

/** The directory that parts are kept in, one file a blob. Whoever asks for the same blob meanwhile gets the same part. */
export class PartStore {
  readonly directory: string;
  readonly #entries = new Map<string, Entry>();

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Opens what there is of a blob. Rejects with a `DownloadError`. */
  async lease(blob: BlobRef): Promise<PartLease> {
    const entry = this.#entries.get(blob.digest) ?? { opened: this.#open(blob), users: 0 };
    this.#entries.set(blob.digest, entry);
    entry.users++;
    let isHeld = true;
    const release = async (): Promise<void> => {
      if (!isHeld) return;
      isHeld = false;
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

  /** Removes what there is of these blobs, except what somebody works on. */
  async remove(digests: readonly string[]): Promise<void> {
    for (const digest of digests) {
      if (!this.#entries.has(digest)) await rm(this.#pathOf(digest), { force: true });
    }
  }

  /** The parts nobody works on. A directory that cannot be read has none. */
  async idle(): Promise<IdlePart[]> {
    const names = await readdir(this.directory).catch(() => []);
    const found: IdlePart[] = [];
    for (const name of names) {
      const digest = `sha256:${FILE.exec(name)?.[1] ?? ""}`;
      if (!FILE.test(name) || this.#entries.has(digest)) continue;
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
