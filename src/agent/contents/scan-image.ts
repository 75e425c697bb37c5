import { createHash } from "node:crypto";
import { contentDigest, digestOfHash } from "../../lib/layer-parts/content-digest.ts";
import { ContentFile } from "./content-file.ts";
import { ExportedFiles } from "./exported-files.ts";

/** More files are not recorded: a record takes 14 bytes on disk. */
const MAX_FILES = 200_000;
/** Larger files are not held in memory. */
const MAX_WHOLE_BYTES = 256 * 1024;

/** Reads an exported image, and returns what its files contain. Rejects with the archive's error. */
export async function scanImage(archive: AsyncIterable<Uint8Array>): Promise<ContentFile> {
  await using files = new ExportedFiles(archive);
  const digests: string[] = [];
  // What is at hand is read without waiting: an image has ten thousands of files.
  while ((files.nextNow() ?? (await files.next())) && files.number < MAX_FILES) {
    const whole = files.size > MAX_WHOLE_BYTES ? undefined : (files.wholeNow() ?? (await files.whole()));
    digests.push(whole ? contentDigest(whole) : await digestOfPieces(files));
  }
  return ContentFile.of(digests);
}

async function digestOfPieces(files: ExportedFiles): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of files.pieces()) hash.update(piece);
  return digestOfHash(hash);
}
