import { rmSync } from "node:fs";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { removeAbandoned } from "../../lib/write-atomically.ts";
import { toDiskError } from "./download-error.ts";
import { type BlobRef, Part } from "./part.ts";
import { RangePart } from "./range-part.ts";

/** A part that is not leased. */
export interface IdlePart {
  readonly digest: string;
  /** Bytes on disk. */
  readonly bytes: number;
  /** Time of the last append: milliseconds since the Unix epoch, by a clock that may have been wrong. */
  readonly changedAt: number;
}

/** Keeps a part open until disposed. */
export interface PartLease<T = Part> extends AsyncDisposable {
  readonly part: T;
  /**
   * Removes the file of the part, unless it is leased by others too. The part can be read until the lease is disposed: only then
   * is the disk space freed, which takes its time, or when this process ends.
   */
  remove(): void;
}

interface Entry<T> {
  /** Where the part is: at the name that its first lease gave it, also for those of other layers. */
  readonly path: string;
  readonly opened: Promise<T>;
  users: number;
}

/** With the digest of the layer before it, if the blob is one that describes a layer. */
const PART_FILE = /^(?:(?<layer>[0-9a-f]{64})\.)?(?<blob>[0-9a-f]{64})\.(?:part|ranges)$/;

/** The directory of parts, one file per blob. Concurrent leases of a blob share one part. */
export class PartStore {
  readonly directory: string;
  readonly #parts = new Map<string, Entry<Part>>();
  readonly #rangeParts = new Map<string, Entry<RangePart>>();

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Opens the part of a blob, created if missing. Rejects with a `DownloadError`. */
  lease(blob: BlobRef): Promise<PartLease> {
    const path = this.#pathOf(blob.digest, "part");
    return this.#lease(this.#parts, blob, path, () => Part.open(blob, this.directory, path));
  }

  /**
   * Opens the part of a blob of which only ranges are needed, created if missing. Rejects with a `DownloadError`.
   *
   * @param layer digest of the layer that the blob describes: the part is removed together with that of the layer
   */
  leaseRanges(blob: BlobRef, layer?: string): Promise<PartLease<RangePart>> {
    const prefix = layer === undefined ? "" : `${hexOf(layer)}.`;
    const path = join(this.directory, `${prefix}${hexOf(blob.digest)}.ranges`);
    return this.#lease(this.#rangeParts, blob, path, () => RangePart.open(blob, this.directory, path));
  }

  /** Whether ranges of a blob may be on disk. */
  async hasRanges(digest: string): Promise<boolean> {
    // Not there.
    const facts = await stat(this.#pathOf(digest, "ranges")).catch(() => undefined);
    return (facts?.size ?? 0) > 0;
  }

  /** Removes the parts of these blobs and of those that describe them, except leased ones, and what a crash has left of records. */
  async remove(digests: readonly string[]): Promise<void> {
    removeAbandoned(this.directory);
    const removed = new Set(digests.map((digest) => hexOf(digest)));
    // The directory is made with the first part.
    for (const name of await readdir(this.directory).catch(() => [])) {
      const { layer = "", blob = "" } = PART_FILE.exec(name)?.groups ?? {};
      const leased: ReadonlyMap<string, unknown> = name.endsWith(".part") ? this.#parts : this.#rangeParts;
      const isWanted = removed.has(layer) || removed.has(blob);
      if (isWanted && !leased.has(`sha256:${blob}`)) await rm(join(this.directory, name), { force: true });
    }
  }

  /** Returns the parts that are not leased; none when the directory cannot be read. */
  async idle(): Promise<IdlePart[]> {
    // The directory is made with the first part.
    const names = await readdir(this.directory).catch(() => []);
    const found: IdlePart[] = [];
    for (const name of names) {
      const digest = `sha256:${PART_FILE.exec(name)?.groups?.["blob"] ?? ""}`;
      if (!PART_FILE.test(name) || this.#parts.has(digest) || this.#rangeParts.has(digest)) continue;
      // Removed meanwhile.
      const facts = await stat(join(this.directory, name)).catch(() => undefined);
      if (facts) found.push({ digest, bytes: facts.blocks * 512, changedAt: facts.mtimeMs });
    }
    return found;
  }

  async #lease<T extends AsyncDisposable>(
    entries: Map<string, Entry<T>>,
    { digest }: BlobRef,
    path: string,
    open: () => Promise<T>,
  ): Promise<PartLease<T>> {
    const entry = entries.get(digest) ?? { path, opened: this.#makeDirectory().then(open), users: 0 };
    entries.set(digest, entry);
    entry.users++;
    // After a removal the blob may have another part by now.
    const forget = (): void => {
      if (entries.get(digest) === entry) entries.delete(digest);
    };
    const remove = (): void => {
      if (entry.users > 1 || entries.get(digest) !== entry) return;
      // At once: otherwise another lease could open the file before it is gone. What takes time is to free its space.
      rmSync(entry.path, { force: true });
      forget();
    };
    let isReleased = false;
    const release = async (): Promise<void> => {
      if (isReleased) return;
      isReleased = true;
      if (--entry.users > 0) return;
      forget();
      await entry.opened.then(
        (part) => part[Symbol.asyncDispose](),
        () => {},
      );
    };
    try {
      return { part: await entry.opened, remove, [Symbol.asyncDispose]: release };
    } catch (error) {
      await release();
      throw error;
    }
  }

  async #makeDirectory(): Promise<void> {
    try {
      await mkdir(this.directory, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw toDiskError(error, this.directory);
    }
  }

  #pathOf(digest: string, kind: "part" | "ranges"): string {
    return join(this.directory, `${hexOf(digest)}.${kind}`);
  }
}

function hexOf(digest: string): string {
  return digest.slice("sha256:".length);
}
