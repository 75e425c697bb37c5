import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { gunzipSync } from "node:zlib";
import { addLocalDirectory } from "../../../../src/edgectl/compose/local-content.ts";
import { ServiceDraft } from "../../../../src/edgectl/compose/service.ts";
import type { LocalFiles, LocalKind } from "../../../../src/edgectl/documents/local-files.ts";
import type { ScalarNode } from "../../../../src/edgectl/documents/node.ts";
import { Problems } from "../../../../src/edgectl/documents/problems.ts";
import { Value } from "../../../../src/edgectl/documents/value.ts";
import { readGroupFile } from "../../../../src/edgectl/group-file/read-group.ts";
import { writeDirectoryArchive } from "../../../../src/lib/directory-archive.ts";
import { tempDir } from "../../../support/temp-dir.ts";
import { sha256Of } from "../../../support/uploads/upload.ts";

const FILES: LocalFiles = {
  kindOf: () => "file",
  fromHere: (path) => path,
  isInside: () => true,
  sizeOf: () => 1,
  modeOf: () => 0o644,
  ownerOf: () => "0:0",
  read: () => Buffer.from("a"),
  readChunks: () => [Buffer.from("a")],
  list: () => ["d/a"],
  uploads: new Map(),
};

const MIB = 1024 * 1024;

const list = (): string[] => Array.from({ length: 100_000 }, (_, index) => `d/${index}`);

function gone(): never {
  throw Object.assign(new Error("gone"), { code: "ENOENT" });
}

/** What is said of a directory `d` that is mounted. */
function mounted(local: Partial<LocalFiles>): string[] {
  const problems = new Problems("f");
  draftOf(local, problems);
  return problems.problemDocuments.map(({ message }) => message);
}

/** A service that mounts a directory `d`. */
function draftOf(local: Partial<LocalFiles>, problems = new Problems("f")): ServiceDraft {
  const node: ScalarNode = { kind: "scalar", place: { line: 1, column: 1 }, value: "./d:/d", source: "./d:/d" };
  const value = new Value(node, problems, "services.web.volumes[0]");
  const draft = new ServiceDraft("web", value);
  addLocalDirectory(value, "d", "/d", draft, { ...FILES, ...local });
  return draft;
}

describe("a directory beside the compose file", () => {
  test("of 100,000 files is refused before all of them are looked at", () => {
    const asked: string[] = [];
    const kindOf = (name: string): LocalKind => {
      asked.push(name);
      return "file";
    };
    expect(mounted({ list, kindOf })).toEqual([expect.stringContaining("more than 4096 files")]);
    expect(asked.length).toBeLessThan(5_000);
  });

  test.each(["list", "sizeOf", "read", "modeOf"] as const)(
    "from which a file goes while it is read is refused by its name: %s",
    (step) => {
      expect(mounted({ [step]: gone })).toEqual([
        expect.stringMatching(/names d(\/a)?, which cannot be read \(ENOENT\)/),
      ]);
    },
  );

  test("with a path that an archive cannot have is refused", () => {
    expect(mounted({ list: () => ["d/a\nb"] })).toEqual([expect.stringContaining("control characters")]);
    expect(mounted({ list: () => [`d/${"a".repeat(200)}`] })).toEqual([expect.stringContaining("too long or deep")]);
  });

  test("with a file that grows while it is read has no more of it than its bound", () => {
    const large = Buffer.alloc(16 * 1024 * 1024 + 1);
    expect(mounted({ read: () => large })).toEqual([expect.stringContaining("d/a, which grew beyond 16384 KiB")]);
  });

  test("that is too large for a request is packed as it is read, file by file, and sent apart", () => {
    const half = Buffer.alloc(9 * MIB, "a");
    const uploads: LocalFiles["uploads"] = new Map();
    const draft = draftOf({
      list: () => ["d/b", "d/a"],
      modeOf: (name) => (name === "d/a" ? 0o755 : 0o644),
      sizeOf: () => half.length,
      read: () => expect.fail("it was read as a whole"),
      readChunks: () => [half.subarray(MIB), half.subarray(0, MIB)],
      uploads,
    });
    const [[hash, source] = []] = [...uploads];
    const packed = Buffer.concat([...source!.read()]);
    const archive = gunzipSync(packed);
    const upload = { sha256: hash, bytes: packed.length, size: archive.length };
    expect(draft.fields).toEqual({
      files: [{ target: "/d", directory: true, sha256: sha256Of(archive), upload }],
    });
    expect(sha256Of(packed)).toBe(hash);
    expect(
      archive.equals(
        writeDirectoryArchive([
          { path: "a", mode: 0o555, content: half },
          { path: "b", mode: 0o444, content: half },
        ]),
      ),
    ).toBe(true);
  });

  test.each<[string, Partial<LocalFiles>, string]>([
    ["that nobody may have", { sizeOf: () => 1024 * MIB + 1 }, "1025 MiB: at most 1024 MiB come with an app"],
    [
      "from which a file goes while it is packed",
      { sizeOf: () => 17 * MIB, readChunks: gone },
      "cannot be read (ENOENT)",
    ],
    ["with a file that others may not read", { sizeOf: () => 17 * MIB, modeOf: () => 0o600 }, "others may not read a"],
  ])("that is too large for a request, %s, is refused", (_what, local, reason) => {
    const uploads: LocalFiles["uploads"] = new Map();
    expect(mounted({ ...local, uploads })).toEqual([expect.stringContaining(reason)]);
    expect(uploads.size).toBe(0);
  });
});

test.each(["d", "./d/"])(
  "of a link to a directory elsewhere, mounted as %s, the link is noted, and none of its files",
  (name) => {
    const problems = new Problems("f");
    const node: ScalarNode = { kind: "scalar", place: { line: 1, column: 1 }, value: "./d:/d", source: "./d:/d" };
    const value = new Value(node, problems, "services.web.volumes[0]");
    const lists: Record<string, string[]> = {
      d: ["d/a", "d/in", "d/link", "d/z"],
      "d/in": ["d/in/link"],
      "d/in/link": ["d/in/link/a"],
      "d/link": ["d/link/a", "d/link/deep"],
      "d/link/deep": ["d/link/deep/b"],
    };
    const local: LocalFiles = {
      ...FILES,
      kindOf: (name) => (lists[name] ? "directory" : "file"),
      list: (name) => lists[name] ?? [],
      isInside: (name) => !/\/link(\/|$)|\/z$/.test(name),
    };
    lists[name] ??= lists["d"] ?? [];
    addLocalDirectory(value, name, "/d", new ServiceDraft("web", value), local);
    const noted = problems.noteDocuments.map(({ message }) => message.split(" ")[2]);
    expect(noted).toEqual(["d/z,", "d/link,", "d/in/link,"]);
  },
);

test("what a link leads to outside of the file's directory is taken, and said", async () => {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const [inside, outside] = ["inside", "outside"].map((name) => join(directory.path, name)) as [string, string];
  for (const path of [inside, outside, join(inside, "conf")]) mkdirSync(path);
  writeFileSync(join(outside, "other.yaml"), "services: {db: {image: 'db:1', restart: always}}\n");
  writeFileSync(join(outside, "secret"), "planted");
  symlinkSync(outside, join(inside, "linked"));
  symlinkSync(join(outside, "secret"), join(inside, "conf", "link"));
  const path = join(inside, "compose.yaml");
  const text =
    "include: [linked/other.yaml]\nservices: {web: {image: 'web:1', restart: always, volumes: ['./conf:/c:ro']}}\n";
  const options = { project: "gw", envFiles: [], env: {}, sharedVolumes: false };
  const group = readGroupFile([{ text, fileName: "compose.yaml", path }], options);
  expect(group?.problems.problemDocuments).toEqual([]);
  expect(group?.problems.notes).toEqual([
    expect.stringContaining("linked/other.yaml, which is outside of the directory of this file"),
    expect.stringContaining("conf/link, which is outside of the directory of this file"),
  ]);
});
