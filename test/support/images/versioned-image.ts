import { createCipheriv, hash } from "node:crypto";
import { buildImage, fileLayer, type FileEntry, type Image } from "./image.ts";

export interface VersionOptions {
  /** Distinguishes the image from those of other tests. */
  readonly seed: string;
  /** 1 for the first. Each version changes a few files, and the times of all. */
  readonly version: number;
  readonly files?: number;
  /** Bytes of a file that only this version has. Default 3,000. */
  readonly newBytes?: number;
}

const SMALL_BYTES = 3_000;
const LARGE_BYTES = 5_000_000;
const CHANGED_EVERY = 200;

/**
 * An app with many files in one layer, as a patch release changes it: one file in 200 has another content, a file comes, and
 * the times of all files are new. Includes a large file, and contents that occur several times.
 */
export async function versionedImage({
  seed,
  version,
  files = 1_000,
  newBytes = SMALL_BYTES,
}: VersionOptions): Promise<Image> {
  const base = await fileLayer([{ path: "base", content: bytesOf(`${seed} base`, 1_000) }]);
  const entries: FileEntry[] = [{ path: "app/", directory: true }];
  for (let index = 0; index < files; index++) {
    const path = `app/${String(index).padStart(5, "0")}.js`;
    const changedIn = index % CHANGED_EVERY === 0 ? version : 0;
    const name = index % 10 === 1 ? "license" : `${index} ${changedIn}`;
    entries.push({ path, content: bytesOf(`${seed} ${name}`, SMALL_BYTES) });
  }
  entries.push({ path: "app/large", content: bytesOf(`${seed} large`, LARGE_BYTES) });
  entries.push({ path: `app/new-${version}`, content: bytesOf(`${seed} new ${version}`, newBytes) });
  return buildImage([base, await fileLayer(entries, new Date(version * 86_400_000))], { Cmd: ["/none"] });
}

/** Bytes that do not compress, the same for the same name. */
function bytesOf(name: string, length: number): Buffer {
  const key = hash("sha256", name, "buffer").subarray(0, 16);
  return createCipheriv("aes-128-ctr", key, Buffer.alloc(16)).update(Buffer.alloc(length));
}
