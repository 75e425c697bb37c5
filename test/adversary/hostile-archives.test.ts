import { lstat, mkdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { extract, type Header, pack } from "tar-stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { filterArchive } from "../../src/agent/streams/archive-filter.ts";
import type { StreamConnection } from "../../src/edgectl/streams/connection.ts";
import { download } from "../../src/edgectl/streams/download.ts";
import { tempDir } from "../support/temp-dir.ts";

type Entry = Partial<Header> & Pick<Header, "name"> & { readonly content?: string };

async function archiveOf(...entries: readonly Entry[]): Promise<Buffer> {
  const archive = pack();
  for (const { content, ...header } of entries) archive.entry(header, content ?? "");
  archive.finalize();
  return await buffer(archive);
}

async function entriesOf(archive: Buffer): Promise<(Header & { readonly content: string })[]> {
  const found: (Header & { readonly content: string })[] = [];
  const reader = extract();
  reader.end(archive);
  for await (const entry of reader) found.push({ ...entry.header, content: (await buffer(entry)).toString() });
  return found;
}

/** What the engine would unpack, or the error. */
async function filtered(archive: Uint8Array, chunk = 700) {
  const failed = Promise.withResolvers<never>();
  async function* parts(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < archive.length; at += chunk) yield archive.subarray(at, at + chunk);
  }
  const passed = buffer(await filterArchive(parts(), failed.reject));
  return await Promise.race([passed.then(entriesOf), failed.promise]);
}

/** Copies what a device sends for `path` to `to`. */
async function copy(archive: Buffer, path: string, to: string) {
  const connection = {
    open: () => ({
      opened: Promise.resolve({ isDirectory: false }),
      ended: Promise.resolve({ code: undefined }),
      async *read() {
        yield { channel: 0, bytes: archive };
      },
      [Symbol.dispose]: () => undefined,
    }),
    failureOf: () => undefined,
  } as unknown as StreamConnection;
  return await download(connection, path, to);
}

describe("into an app", () => {
  test("a path that no kernel takes is refused, and looked through once", async () => {
    const name = "a/".repeat(2049);
    await expect(filtered(await archiveOf({ name }))).rejects.toMatchObject({ code: "InvalidRequest" });
    const linkname = "a".repeat(4097);
    await expect(filtered(await archiveOf({ name: "a", type: "symlink", linkname }))).rejects.toThrow("more than 4096");
  });

  test("files, directories and links pass, with their content and long names", async () => {
    const long = `tree/${"x".repeat(180)}/${"y".repeat(90)}`;
    const content = "z".repeat(20_000);
    const found = await filtered(
      await archiveOf(
        { name: "tree", type: "directory", mode: 0o750 },
        { name: long, mode: 0o640, content },
        { name: "tree/empty" },
        { name: "tree/link", type: "symlink", linkname: "../elsewhere" },
      ),
    );
    expect(found).toMatchObject([
      { name: "tree", type: "directory", mode: 0o750 },
      { name: long, type: "file", mode: 0o640, content },
      { name: "tree/empty", type: "file", content: "" },
      { name: "tree/link", type: "symlink", linkname: "../elsewhere" },
    ]);
  });

  test("programs lose the user, the group and the rights they would run with, and belong to root", async () => {
    const pax = { "SCHILY.xattr.security.capability": "planted" };
    const archive = await archiveOf({ name: "su", mode: 0o6755, uid: 1000, gid: 1000, content: "#!", pax });
    expect(archive.toString()).toContain("security.capability");
    const [found] = await filtered(archive);
    expect(found).toMatchObject({ name: "su", mode: 0o755, uid: 0, gid: 0, content: "#!" });
    expect(JSON.stringify(found)).not.toContain("planted");
  });

  test.each([
    ["a block device", { name: "sda", type: "block-device", devmajor: 8, devminor: 0 }],
    ["a character device", { name: "mem", type: "character-device", devmajor: 1, devminor: 1 }],
    ["a pipe", { name: "pipe", type: "fifo" }],
    ["a hard link", { name: "hard", type: "link", linkname: "../../etc/shadow" }],
    ["an absolute path", { name: "/etc/passwd" }],
    ["a path that leads out", { name: "tree/../../etc/passwd" }],
  ] as const)("%s is refused", async (_what, entry) => {
    const archive = await archiveOf({ name: "fine" }, entry);
    await expect(filtered(archive)).rejects.toMatchObject({ code: "InvalidRequest" });
  });

  test("what is no archive, or not all of one, is refused", async () => {
    await expect(filtered(Buffer.alloc(2_000, 7))).rejects.toMatchObject({ code: "InvalidRequest" });
    const whole = await archiveOf({ name: "file", content: "x".repeat(5_000) });
    await expect(filtered(whole.subarray(0, 3_000))).rejects.toMatchObject({ code: "InvalidRequest" });
  });
});

describe("from an app, to the operator's machine", () => {
  let directory: Awaited<ReturnType<typeof tempDir>>;
  let home = "";
  beforeEach(async () => {
    directory = await tempDir();
    home = join(directory.path, "home");
    await mkdir(join(home, "outside"), { recursive: true });
    await writeFile(join(home, "outside/secret"), "untouched");
  });
  afterEach(() => directory[Symbol.asyncDispose]());

  const exists = async (...path: string[]): Promise<boolean> =>
    (await lstat(join(home, ...path)).catch(() => undefined)) !== undefined;

  test.each([["../planted"], ["tree/../../planted"], ["/planted"], ["tree/..\0/planted"]])(
    "nothing is written for the path %j",
    async (name) => {
      const to = join(home, "here");
      await mkdir(to);
      const archive = await archiveOf({ name: "tree", type: "directory" }, { name, content: "planted" });
      await expect(copy(archive, "/srv/tree", to)).rejects.toThrow();
      expect(await exists("planted")).toBe(false);
      expect(await exists("here/planted")).toBe(false);
    },
  );

  test("a link in the archive, and what comes through it, stays out", async () => {
    const to = join(home, "here");
    const archive = await archiveOf(
      { name: "tree", type: "directory" },
      { name: "tree/link", type: "symlink", linkname: "../../outside" },
      { name: "tree/hard", type: "link", linkname: "/etc/passwd" },
      { name: "tree/sda", type: "block-device", devmajor: 8, devminor: 0 },
      { name: "tree/su", mode: 0o6755, content: "x" },
    );
    expect(await copy(archive, "/srv/tree", to)).toEqual({ files: 1, bytes: 1, skipped: 3 });
    expect(await exists("here/link")).toBe(false);
    expect((await lstat(join(to, "su"))).mode & 0o7000).toBe(0);
  });

  test("a link that is already here is not followed, neither as a file nor on the way to one", async () => {
    const to = join(home, "here");
    await mkdir(join(to, "tree"), { recursive: true });
    await symlink("../../outside", join(to, "tree/sub"));
    await symlink("../../outside/secret", join(to, "tree/file"));
    const through = await archiveOf(
      { name: "tree", type: "directory" },
      { name: "tree/sub/secret", content: "planted" },
    );
    await expect(copy(through, "/srv/tree", to)).rejects.toThrow("link");
    const onto = await archiveOf({ name: "tree", type: "directory" }, { name: "tree/file", content: "planted" });
    await expect(copy(onto, "/srv/tree", to)).rejects.toThrow("link");
    expect(await readFile(join(home, "outside/secret"), "utf8")).toBe("untouched");
    expect(await readlink(join(to, "tree/sub"))).toBe("../../outside");
  });

  test("a path that ends in .. does not lead out of the directory that is copied to", async () => {
    const to = join(home, "here");
    await mkdir(to);
    const archive = await archiveOf({ name: "x", type: "directory" }, { name: "x/planted", content: "planted" });
    await copy(archive, "/srv/tree/..", to);
    expect(await exists("planted")).toBe(false);
    expect(await exists("here/srv/planted")).toBe(true);
  });
});
