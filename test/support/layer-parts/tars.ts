import { createHash } from "node:crypto";
import fc from "fast-check";
import { pack } from "tar-stream";

/** An entry of a tar: a file with its content, or a directory or link without one. */
export interface TarEntry {
  readonly name: string;
  readonly content?: Uint8Array;
  readonly linkTo?: string;
  readonly mtime?: Date;
}

export async function tarOf(entries: readonly TarEntry[]): Promise<Buffer> {
  const tar = pack();
  for (const { name, content, linkTo, mtime = new Date(0) } of entries) {
    if (content !== undefined) tar.entry({ name, mtime }, Buffer.from(content));
    else if (linkTo === undefined) tar.entry({ name, type: "directory", mtime });
    else tar.entry({ name, type: "symlink", linkname: linkTo, mtime });
  }
  tar.finalize();
  const chunks: Uint8Array[] = [];
  for await (const chunk of tar) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks);
}

export function diffIdOf(tar: Uint8Array): string {
  return `sha256:${createHash("sha256").update(tar).digest("hex")}`;
}

/** Bytes that do not compress, the same for the same seed. */
export function randomBytes(size: number, seed: string): Buffer {
  const blocks: Buffer[] = [];
  for (let length = 0; length < size; length += 32) {
    blocks.push(createHash("sha256").update(`${seed}${length}`).digest());
  }
  return Buffer.concat(blocks).subarray(0, size);
}

/** Trees with empty, tiny, repeated and long contents, contents of whole blocks, and names that need extended headers. */
export const tarEntries: fc.Arbitrary<TarEntry[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ name: nameOf(), content: contentOf() }) },
    fc.record({ name: nameOf() }),
    fc.record({ name: nameOf(), linkTo: nameOf() }),
  ),
  { maxLength: 20 },
);

function nameOf(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.stringMatching(/^[a-z]{1,8}(\/[a-z]{1,8}){0,3}$/u),
    fc.integer({ min: 90, max: 300 }).map((length) => "long/".repeat(length / 5)),
    fc.constant("ünïcode"),
  );
}

function contentOf(): fc.Arbitrary<Uint8Array> {
  return fc.oneof(
    fc.uint8Array({ maxLength: 80 }),
    fc.tuple(fc.integer({ min: 60, max: 5000 }), fc.nat(3)).map(([size, seed]) => randomBytes(size, String(seed))),
    fc.constantFrom(512, 1024, 2048).map((size) => Buffer.alloc(size, "block")),
    fc.integer({ min: 1, max: 9000 }).map((size) => Buffer.alloc(size)),
  );
}

/** The bytes in pieces of the given sizes, over and over. */
export async function* inPieces(bytes: Uint8Array, sizes: readonly number[] = [64 * 1024]): AsyncGenerator<Uint8Array> {
  for (let at = 0, index = 0; at < bytes.length; index++) {
    await Promise.resolve();
    const size = sizes[index % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

export async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(Buffer.from(chunk));
  return Buffer.concat(all);
}
