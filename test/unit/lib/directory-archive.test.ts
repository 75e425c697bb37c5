import { buffer } from "node:stream/consumers";
import fc from "fast-check";
import { pack } from "tar-stream";
import { describe, expect, it } from "vitest";
import {
  DirectoryArchiveError,
  type DirectoryEntry,
  foldersOf,
  isArchivePath,
  MAX_DIRECTORY_ENTRIES,
  readDirectoryArchive,
  writeDirectoryArchive,
} from "../../../src/lib/directory-archive.ts";

const FILE: DirectoryEntry = { path: "conf.d/a.conf", mode: 0o444, content: Buffer.from("a\n") };
const ENTRIES: readonly DirectoryEntry[] = [
  { path: "conf.d", mode: 0o755 },
  FILE,
  { path: "größe & mehr", mode: 0o555, content: Buffer.alloc(1_000, 1) },
  { path: "nothing", mode: 0o444, content: Buffer.alloc(0) },
];

const plain = (entries: readonly DirectoryEntry[]) =>
  entries.map(({ content, ...entry }) => ({ ...entry, ...(content && { content: Buffer.from(content).toString() }) }));

type Header = Parameters<ReturnType<typeof pack>["entry"]>[0];

/** An archive as another program writes it. */
async function packed(...headers: readonly Header[]): Promise<Buffer> {
  const archive = pack();
  for (const header of headers) {
    if (header.type === undefined) archive.entry(header, "x");
    else archive.entry(header);
  }
  archive.finalize();
  return buffer(archive);
}

describe("the archive of a directory", () => {
  it("has the files that were written, and is the same bytes for the same files", () => {
    const archive = writeDirectoryArchive(ENTRIES);
    expect(plain(readDirectoryArchive(archive))).toEqual(plain(ENTRIES));
    expect(writeDirectoryArchive(ENTRIES.toReversed()).equals(archive)).toBe(true);
    expect(readDirectoryArchive(writeDirectoryArchive([]))).toEqual([]);
  });

  it("may come from another program", async () => {
    const archive = await packed({ name: "a/b.conf", mode: 0o640, uid: 1000, mtime: new Date() });
    expect(plain(readDirectoryArchive(archive))).toEqual([{ path: "a/b.conf", mode: 0o640, content: "x" }]);
  });

  it("may be of the directory that tar is in", async () => {
    const archive = await packed(
      { name: "./", type: "directory" },
      { name: "./a/", type: "directory" },
      { name: "./a/b" },
    );
    expect(plain(readDirectoryArchive(archive))).toMatchObject([{ path: "a" }, { path: "a/b", content: "x" }]);
  });

  it("has paths of up to 255 bytes, as far as they can be divided", () => {
    const [long, undivided] = [`${"a".repeat(150)}/${"b".repeat(100)}`, "a".repeat(101)];
    expect(
      [long, undivided, "ok", "../x", "/x", "a//b", "a/./b", "a\nb", "", `${long}12345`].map(isArchivePath),
    ).toEqual([true, false, true, false, false, false, false, false, false, false]);
    const written = writeDirectoryArchive([{ path: long, mode: 0o444, content: Buffer.from("x") }]);
    expect(plain(readDirectoryArchive(written))).toMatchObject([{ path: long }]);
    expect(foldersOf("a/b/c")).toEqual(["a", "a/b"]);
    expect([`${"a/".repeat(15)}b`, `${"a/".repeat(16)}b`].map(isArchivePath)).toEqual([true, false]);
  });

  it.each<[string, Header[], string]>([
    ["a path out of the directory", [{ name: "../a" }], "leads out"],
    ["an absolute path", [{ name: "/a" }], "leads out"],
    ["a path through ..", [{ name: "a/../../b" }], "leads out"],
    ["a path to .. behind ./", [{ name: "./../b" }], "leads out"],
    ["an absolute path behind ./", [{ name: ".//b" }], "leads out"],
    ["a file without a path", [{ name: "./" }], "leads out"],
    ["a symbolic link", [{ name: "a", type: "symlink", linkname: "/etc" }], "plain files"],
    ["a hard link", [{ name: "a", type: "link", linkname: "b" }], "plain files"],
    ["a device", [{ name: "a", type: "character-device" }], "plain files"],
    ["a named pipe", [{ name: "a", type: "fifo" }], "plain files"],
    ["an extended header", [{ name: "a".repeat(300) }], "plain files"],
    ["a set-uid program", [{ name: "a", mode: 0o4755 }], "special permissions"],
    ["a path twice", [{ name: "a" }, { name: "a" }], "twice"],
    ["a file inside of a file", [{ name: "a/b" }, { name: "a" }], "inside of a file"],
  ])("is refused with %s", async (_what, headers, reason) => {
    const archive = await packed(...headers.map((header) => ({ mode: 0o444, ...header })));
    expect(() => readDirectoryArchive(archive)).toThrow(reason);
  });

  it("is refused with too many files, cut off, or with something behind it", () => {
    const many = Array.from({ length: MAX_DIRECTORY_ENTRIES + 1 }, (_, index) => ({ ...FILE, path: `${index}` }));
    expect(() => readDirectoryArchive(writeDirectoryArchive(many))).toThrow("more than 4096");
    expect(readDirectoryArchive(writeDirectoryArchive(many.slice(1)))).toHaveLength(MAX_DIRECTORY_ENTRIES);
    // Folders count, also those without an entry of their own.
    const deep = Array.from({ length: 500 }, (_, index): DirectoryEntry => {
      return { path: `${index}/a/b/c/d/e/f/g/h/i`, mode: 0o444, content: Buffer.from("x") };
    });
    expect(() => readDirectoryArchive(writeDirectoryArchive(deep))).toThrow("more than 4096");
    expect(readDirectoryArchive(writeDirectoryArchive(deep.slice(0, 400)))).toHaveLength(400);
    const archive = writeDirectoryArchive(ENTRIES);
    expect(() => readDirectoryArchive(archive.subarray(0, 1_100))).toThrow("cut off");
    expect(() => readDirectoryArchive(archive.subarray(0, -1_024))).toThrow("cut off");
    expect(() => readDirectoryArchive(new Uint8Array())).toThrow("cut off");
    expect(() => readDirectoryArchive(Buffer.concat([archive, Buffer.from("x")]))).toThrow("behind its end");
  });

  it("whose bytes are changed is read or refused, and has no path that leads out", () => {
    const archive = writeDirectoryArchive(ENTRIES);
    const change = fc.record({ at: fc.nat(archive.length - 1), byte: fc.integer({ min: 0, max: 255 }) });
    const property = fc.property(
      fc.array(change, { minLength: 1, maxLength: 4 }),
      fc.nat(archive.length),
      (changes, end) => {
        const bytes = Buffer.from(archive.subarray(0, end));
        for (const { at, byte } of changes) if (at < bytes.length) bytes[at] = byte;
        try {
          for (const { path } of readDirectoryArchive(bytes)) expect(path).not.toMatch(/^\/|(^|\/)\.\.?(\/|$)/);
        } catch (error) {
          expect(error).toBeInstanceOf(DirectoryArchiveError);
        }
      },
    );
    fc.assert(property, { numRuns: 500 });
  });
});
