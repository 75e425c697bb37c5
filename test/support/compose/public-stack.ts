import { createHash } from "node:crypto";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const STACKS = join(import.meta.dirname, "../../fixtures/public-stacks");

/** Makes a directory as people have it who cloned the stack's repository, with made-up files of the right sizes. */
export async function clonePublicStack(name: string, into: string): Promise<void> {
  await cp(join(STACKS, name), into, { recursive: true });
  for (const line of (await readFile(join(into, "tree.txt"), "utf8")).trim().split("\n")) {
    const [mode = "", bytes, path = ""] = line.split(" ");
    await mkdir(dirname(join(into, path)), { recursive: true });
    await writeFile(join(into, path), textOf(path, Number(bytes)), { mode: Number.parseInt(mode.slice(-3), 8) });
  }
}

/** A text that differs between files, and packs about as configurations do. */
function textOf(path: string, bytes: number): string {
  const own = createHash("sha256").update(path).digest("hex");
  return `# ${own}\n[section]\n  key = "value"\n`.repeat(Math.ceil(bytes / 40)).slice(0, bytes);
}

/** Returns the names and images of a stack's services, in the order of the file. */
export function imagesOf(composeFile: string): [service: string, image: string][] {
  const services = composeFile
    .slice(composeFile.search(/^services:/m))
    .matchAll(/^ {2}([\w-]+):\s*\n\s+image: (\S+)$/gm);
  return Array.from(services, ([, service = "", image = ""]) => [service, image]);
}
