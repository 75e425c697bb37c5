import { constants, zstdCompressSync } from "node:zlib";
import { INDEX_MAGIC, type IndexTable } from "./format.ts";
import { pushVarint } from "./varint.ts";

const LEVEL = 19;

/** Encodes an index as `format.ts` describes it. */
export function encodeTable({ diffId, tarSize, headers, files, contents }: IndexTable): Buffer {
  const parts = contents.flatMap((content) => content.parts);
  const several = contents.filter((content) => content.parts.length > 1);
  let known = 0;
  const table = Buffer.concat([
    hex(diffId.slice("sha256:".length)),
    numbers([tarSize, headers.size, headers.length]),
    hex(headers.digest),
    numbers([files.length, contents.length, parts.length]),
    numbers(files.map(({ gap, isPadded }) => gap * 2 + Number(isPadded))),
    numbers(files.map(({ content }) => (content === known ? (known++, 0) : content + 1))),
    numbers(contents.map((content) => content.parts.length - 1)),
    numbers(parts.map((part) => part.size)),
    numbers(parts.map((part) => part.length)),
    ...parts.map((part) => hex(part.digest)),
    ...several.map((content) => hex(content.digest)),
  ]);
  const params = { [constants.ZSTD_c_compressionLevel]: LEVEL };
  return Buffer.concat([INDEX_MAGIC, zstdCompressSync(table, { params })]);
}

function numbers(values: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  for (const value of values) pushVarint(bytes, value);
  return Uint8Array.from(bytes);
}

function hex(digits: string): Uint8Array {
  return Buffer.from(digits, "hex");
}
