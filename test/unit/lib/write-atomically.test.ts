import { spawnSync } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeAbandoned, writeAtomically } from "../../../src/lib/write-atomically.ts";
import { tempDir } from "../../support/temp-dir.ts";

let directory: Awaited<ReturnType<typeof tempDir>>;
beforeEach(async () => {
  directory = await tempDir();
});
afterEach(() => directory[Symbol.asyncDispose]());

const ended = spawnSync("true").pid;
/** Incomplete files, and one that only looks like it. */
const left = (name: string) => [`${name}.${ended}.tmp`, `${name}.${process.pid}.tmp`, `${name}.${process.ppid}.tmp`];

async function leave(...names: readonly string[]): Promise<void> {
  for (const name of names) await writeFile(join(directory.path, name), "half", { mode: 0o644 });
}

test("a write removes what a crash has left of earlier ones of the file, not what another process writes", async () => {
  await leave(...left("token"), ...left("other"), "token.tmp");
  writeAtomically(join(directory.path, "token"), "whole", { mode: 0o600 });
  const rest = ["token", `token.${process.ppid}.tmp`, "token.tmp", ...left("other")];
  expect((await readdir(directory.path)).toSorted()).toEqual(rest.toSorted());
  expect(await readFile(join(directory.path, "token"), "utf8")).toBe("whole");
  expect((await stat(join(directory.path, "token"))).mode & 0o777).toBe(0o600);
});

test("a directory with the name of what a crash leaves keeps nobody from writing", async () => {
  await mkdir(join(directory.path, `token.${ended}.tmp`));
  writeAtomically(join(directory.path, "token"), "whole", { mode: 0o600 });
  expect(await readFile(join(directory.path, "token"), "utf8")).toBe("whole");
});

test("what crashes have left in a directory is removed, whatever its file", async () => {
  await leave(...left("one"), ...left("two"), "three");
  removeAbandoned(directory.path);
  const rest = [`one.${process.ppid}.tmp`, `two.${process.ppid}.tmp`, "three"];
  expect((await readdir(directory.path)).toSorted()).toEqual(rest.toSorted());
  removeAbandoned(join(directory.path, "missing"));
});
