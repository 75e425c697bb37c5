import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { EXECUTABLES } from "./executables.ts";

/** One line for each bundle: its size, and what is left of it when compressed. */
export async function sizeTable(folder: string): Promise<string> {
  const lines = EXECUTABLES.map(async ({ name }) => {
    const content = await readFile(join(folder, `${name}.mjs`));
    const compressed = await promisify(gzip)(content);
    return `dist/${name.padEnd(12)} ${kilobytes(content)}, ${kilobytes(compressed)} with gzip`;
  });
  return (await Promise.all(lines)).join("\n");
}

const kilobytes = (content: Buffer): string => `${(content.length / 1000).toFixed(0).padStart(5)} kB`;
