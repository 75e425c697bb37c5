import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Manifest } from "vite";

const ENTRY = "index.html";
/** Modules of pages: each is loaded when its page is opened. */
const PAGE = /^pages\/.*-page\.tsx$/;

interface PageSize {
  readonly page: string;
  readonly bytes: number;
}

/**
 * Returns the page that loads most script before it is usable: the entry, the page's module and all that they import,
 * compressed. What they load later does not count.
 */
export async function heaviestPage(manifest: Manifest, folder: string): Promise<PageSize> {
  const pages = Object.keys(manifest).filter((key) => PAGE.test(key));
  const sizes = await Promise.all(
    pages.map(async (page) => ({ page, bytes: await compressedSize(folder, closure(manifest, [ENTRY, page])) })),
  );
  const [heaviest] = sizes.toSorted((a, b) => b.bytes - a.bytes);
  if (!heaviest) throw new Error("the console has no page");
  return heaviest;
}

/** The files of the modules and of all that they import at once. */
function closure(manifest: Manifest, keys: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const waiting = [...keys];
  for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
    if (seen.has(key)) continue;
    seen.add(key);
    waiting.push(...(manifest[key]?.imports ?? []));
  }
  return new Set([...seen].map((key) => manifest[key]?.file ?? key));
}

async function compressedSize(folder: string, files: ReadonlySet<string>): Promise<number> {
  const sizes = [...files].map(async (file) => (await stat(join(folder, `${file}.br`))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
