import { createHash } from "node:crypto";
import { digestOfHash } from "../../lib/layer-parts/content-digest.ts";
import { ContentFile, type ContentRecord } from "./content-file.ts";
import { exportedFiles } from "./exported-files.ts";

/** More files are not recorded: a record takes 14 bytes on disk. */
const MAX_FILES = 200_000;

/** Reads an exported image, and returns what its files contain. Rejects with the archive's error. */
export async function scanImage(archive: AsyncIterable<Uint8Array>): Promise<ContentFile> {
  const records: ContentRecord[] = [];
  for await (const { number, content } of exportedFiles(archive)) {
    if (number === MAX_FILES) break;
    const hash = createHash("sha256");
    for await (const chunk of content) hash.update(chunk);
    records.push({ digest: digestOfHash(hash), number });
  }
  return ContentFile.of(records);
}
