import { createHash } from "node:crypto";
import { contentDigest, digestOfHash } from "../../lib/layer-parts/content-digest.ts";
import { ContentFile, type ContentRecord } from "./content-file.ts";
import { type ExportedFile, exportedFiles } from "./exported-files.ts";

/** More files are not recorded: a record takes 14 bytes on disk. */
const MAX_FILES = 200_000;
/** Larger files are not held in memory. */
const MAX_WHOLE_BYTES = 256 * 1024;

/** Reads an exported image, and returns what its files contain. Rejects with the archive's error. */
export async function scanImage(archive: AsyncIterable<Uint8Array>): Promise<ContentFile> {
  const records: ContentRecord[] = [];
  for await (const file of exportedFiles(archive)) {
    if (file.number === MAX_FILES) break;
    records.push({ digest: await digestOf(file), number: file.number });
  }
  return ContentFile.of(records);
}

async function digestOf({ size, whole, pieces }: ExportedFile): Promise<string> {
  if (size <= MAX_WHOLE_BYTES) return contentDigest(await whole());
  const hash = createHash("sha256");
  for await (const piece of pieces()) hash.update(piece);
  return digestOfHash(hash);
}
