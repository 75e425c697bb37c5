import { chmodSync, linkSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import {
  describePermissionChanges,
  restrictPermissions,
  type PermissionLimits,
} from "../../../src/lib/file-permissions.ts";
import { tempDir } from "../../support/temp-dir.ts";

let home: Awaited<ReturnType<typeof tempDir>>;
let directory: string;
beforeEach(async () => {
  home = await tempDir();
  directory = join(home.path, "d");
  mkdirSync(directory);
  chmodSync(directory, 0o755);
});
afterEach(() => home[Symbol.asyncDispose]());

const mend = (options: Partial<PermissionLimits> = {}): string[] =>
  describePermissionChanges(
    restrictPermissions({ directory, directoryMode: 0o700, fileMode: 0o600, isManaged: () => true, ...options }),
  ).map((text) => text.replace(directory, "d"));
const put = (name: string, mode: number): string => {
  const path = join(directory, name);
  writeFileSync(path, "");
  chmodSync(path, mode);
  return path;
};
const mode = (path: string): number => statSync(path).mode & 0o7777;

it("removes permissions, adds none, and has nothing left to do the second time", () => {
  const files = [put("a", 0o666), put("b", 0o400), put("c", 0o4755)];
  expect(mend()).toEqual(["d 0755 -> 0700", "d/a 0666 -> 0600", "d/c 4755 -> 0600"]);
  expect(files.map(mode)).toEqual([0o600, 0o400, 0o600]);
  expect(mend()).toEqual([]);
});

it("does not change targets of links, files with hard links, or unmanaged files", () => {
  const victim = join(home.path, "victim");
  writeFileSync(victim, "");
  chmodSync(victim, 0o644);
  symlinkSync(victim, join(directory, "link"));
  linkSync(victim, join(directory, "name"));
  const other = put("other", 0o644);
  expect(mend({ isManaged: (name) => name !== "other" })).toEqual(["d 0755 -> 0700"]);
  expect([mode(victim), mode(other)]).toEqual([0o644, 0o644]);
});

it("does not change a shared directory or its files, which could be replaced meanwhile", () => {
  const file = put("a", 0o644);
  chmodSync(directory, 0o1777);
  expect(mend()).toEqual([]);
  chmodSync(directory, 0o777);
  expect(mend({ directoryMode: 0o777 })).toEqual([]);
  expect(mode(file)).toBe(0o644);
  expect(mend({ directory: join(home.path, "none") })).toEqual([]);
});

it("lists up to the limit, and the number of the others", () => {
  for (const name of ["a", "b", "c"]) put(name, 0o644);
  const mended = restrictPermissions({ directory, directoryMode: 0o700, fileMode: 0o600, isManaged: () => true });
  expect(describePermissionChanges(mended, 2)).toEqual([expect.any(String), expect.any(String), "and 2 more"]);
});
