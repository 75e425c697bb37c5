import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { EXECUTABLES } from "./executables.ts";

/** One line for each program: the size of its bundle in all its files, and what is left of it when compressed. */
export async function sizeTable(folder: string): Promise<string> {
  const files = await readdir(folder);
  const lines = EXECUTABLES.map(async ({ name }) => {
    const parts = files.filter((file) => file.startsWith(`${name}.`) && file.endsWith(".mjs"));
    const content = Buffer.concat(await Promise.all(parts.map((file) => readFile(join(folder, file)))));
    const compressed = await promisify(gzip)(content);
    return `dist/${name.padEnd(12)} ${kilobytes(content)}, ${kilobytes(compressed)} with gzip`;
  });
  return (await Promise.all(lines)).join("\n");
}

const kilobytes = (content: Buffer): string => `${(content.length / 1000).toFixed(0).padStart(5)} kB`;
