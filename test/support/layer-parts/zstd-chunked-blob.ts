import { createHash } from "node:crypto";
import { zstdCompressSync } from "node:zlib";
import { TarPieces } from "../../../src/lib/layer-parts/layer-index/tar-pieces.ts";
import type { LayerLayout } from "../../../src/lib/layer-parts/layer-layout.ts";
import { LAYOUT_LIMITS, type LayoutLimits } from "../../../src/lib/layer-parts/limits.ts";
import { readZstdChunked } from "../../../src/lib/layer-parts/zstd-chunked/layout.ts";
import { findZstdChunked } from "../../../src/lib/layer-parts/zstd-chunked/place.ts";
import { rollingCuts } from "./rolling-sum.ts";
import { diffIdOf } from "./tars.ts";

type Json = Record<string, unknown>;

/** What a lying writer changes. */
export interface ZstdChunkedLies {
  readonly entries?: (entries: Json[]) => unknown[];
  readonly toc?: (toc: Json) => Json;
  readonly tarSplit?: (lines: string[]) => string[];
  /** Of the bytes of the tables, before they are packed. */
  readonly tocBytes?: (bytes: Buffer) => Buffer;
  readonly annotations?: (annotations: Record<string, string>) => Record<string, string>;
  /** Bytes of a chunk; `rolling`: cut by content, as containers/storage does. Absent: a file is one chunk. */
  readonly chunkBytes?: number | "rolling";
}

export interface ZstdChunkedBlob {
  readonly blob: Buffer;
  readonly diffId: string;
  readonly annotations: Readonly<Record<string, string>>;
}

const PREFIX = "io.github.containers.zstd-chunked.";

/** Writes a layer as zstd:chunked. */
export function zstdChunkedBlob(tar: Buffer, lies: ZstdChunkedLies = {}): ZstdChunkedBlob {
  const { entries, lines, frames } = cutTar(tar, lies.chunkBytes ?? Infinity);
  const split = zstdCompressSync(Buffer.from((lies.tarSplit ?? same)(lines).join("")));
  const splitSize = Buffer.from((lies.tarSplit ?? same)(lines).join("")).length;
  const toc = (lies.toc ?? same)({
    version: 1,
    entries: (lies.entries ?? same)(entries),
    tarSplitDigest: digestOf(split),
  });
  const tocBytes = (lies.tocBytes ?? same)(Buffer.from(JSON.stringify(toc)));
  const packedToc = zstdCompressSync(tocBytes);
  const contents = Buffer.concat(frames);
  const tocOffset = contents.length + 8;
  const splitOffset = tocOffset + packedToc.length + 8;
  const footer = Buffer.alloc(64);
  const fields = [tocOffset, packedToc.length, tocBytes.length, 1, splitOffset, split.length, splitSize];
  for (const [index, field] of fields.entries()) footer.writeBigUInt64LE(BigInt(field), index * 8);
  footer.write("GNUlInUx", 56, "latin1");
  const annotations = {
    [`${PREFIX}manifest-checksum`]: digestOf(packedToc),
    [`${PREFIX}manifest-position`]: `${tocOffset}:${packedToc.length}:${tocBytes.length}:1`,
    [`${PREFIX}tarsplit-position`]: `${splitOffset}:${split.length}:${splitSize}`,
  };
  const blob = Buffer.concat([contents, skippable(packedToc), skippable(split), skippable(footer)]);
  return { blob, diffId: diffIdOf(tar), annotations: (lies.annotations ?? same)(annotations) };
}

/** Reads how the layer is put together, by its annotations. */
export function layoutOf(written: ZstdChunkedBlob, limits: LayoutLimits = LAYOUT_LIMITS): Promise<LayerLayout> {
  const { blob, annotations, diffId } = written;
  const place = findZstdChunked(annotations, blob.length, limits);
  if (place === undefined) throw new Error("the layer has no annotations");
  const { offset, length } = place.tail;
  return readZstdChunked(place, blob.subarray(offset, offset + length), diffId, limits);
}

/** Ends of the chunks of a file. */
function chunkEnds(file: Uint8Array, chunkBytes: number | "rolling"): number[] {
  if (chunkBytes === "rolling") return rollingCuts(file);
  const count = Math.ceil(file.length / Math.min(chunkBytes, Math.max(1, file.length)));
  return Array.from({ length: count }, (_, index) => Math.min(file.length, (index + 1) * chunkBytes));
}

function cutTar(tar: Buffer, chunkBytes: number | "rolling"): { entries: Json[]; lines: string[]; frames: Buffer[] } {
  const entries: Json[] = [];
  const lines: string[] = [];
  const frames: Buffer[] = [];
  let offset = 0;
  let content: Uint8Array[] = [];
  const frame = (bytes: Uint8Array): void => {
    const packed = zstdCompressSync(bytes);
    frames.push(packed);
    offset += packed.length;
  };
  const line = (entry: Json): void => void lines.push(`${JSON.stringify({ ...entry, position: lines.length })}\n`);
  const segment = (bytes: Uint8Array): void => {
    line({ type: 2, payload: Buffer.from(bytes).toString("base64") });
    if (bytes.length > 0) frame(bytes);
  };
  const file = (): void => {
    const whole = Buffer.concat(content);
    content = [];
    const chunks: Json[] = [];
    let at = 0;
    for (const end of chunkEnds(whole, chunkBytes)) {
      const bytes = whole.subarray(at, end);
      const isZeros = bytes.every((byte) => byte === 0) && chunkBytes !== Infinity;
      chunks.push({
        offset,
        chunkSize: bytes.length,
        chunkDigest: digestOf(bytes),
        chunkOffset: at,
        ...(isZeros && { chunkType: "zeros" }),
      });
      frame(bytes);
      at = end;
    }
    const [first, ...others] = chunks;
    const name = `file-${entries.length}`;
    const place = others.length > 0 ? first : { offset: first?.["offset"] };
    entries.push({ type: "reg", name, size: whole.length, digest: digestOf(whole), ...place, endOffset: offset });
    for (const chunk of others) entries.push({ type: "chunk", name, ...chunk });
    line({ type: 1, name, size: whole.length, payload: "" });
  };
  const pieces = new TarPieces();
  for (const piece of pieces.read(tar)) {
    if (piece.kind === "content") content.push(piece.bytes);
    else if (piece.kind === "padding") {
      file();
      segment(piece.bytes);
    } else if (piece.kind === "literal") segment(piece.bytes);
  }
  return { entries, lines, frames };
}

function skippable(bytes: Buffer): Buffer {
  const header = Buffer.from("502a4d1800000000", "hex");
  header.writeUInt32LE(bytes.length, 4);
  return Buffer.concat([header, bytes]);
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

function same<Value>(value: Value): Value {
  return value;
}
