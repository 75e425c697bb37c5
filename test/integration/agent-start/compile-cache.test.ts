import { chmod, chown, mkdir, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { succeed } from "../../support/command.ts";
import { tempDir } from "../../support/temp-dir.ts";

const CODE = pathToFileURL("src/agent/daemon/compile-cache.ts").href;
const MODULE = "export const answer = (text) => `${text} is compiled`;\n";

interface Start {
  readonly output: string;
  /** Whether Node.js used the compiled code of the module. */
  readonly isCached: boolean;
}

/** Imports a module in a process of its own, as the daemon does, with this state directory. */
async function startWith(folder: string, stateDirectory: string): Promise<Start> {
  const module = join(folder, "module.mjs");
  await writeFile(module, MODULE);
  const main = join(folder, "main.mjs");
  await writeFile(
    main,
    `import { enableCompileCache, flushCompileCache } from ${JSON.stringify(CODE)};
     enableCompileCache(${JSON.stringify(stateDirectory)});
     const { answer } = await import("./module.mjs");
     flushCompileCache({ timer: (ms, callback) => callback() });
     console.log(answer("it"));`,
  );
  const log = join(folder, "log");
  const stdout = await succeed("/bin/sh", ["-c", `"$0" "$@" 2> ${log}`, process.execPath, main], {
    env: { NODE_DEBUG_NATIVE: "COMPILE_CACHE", NODE_COMPILE_CACHE: undefined },
  });
  const accepted = /module\.mjs.* was accepted/.test(await readFile(log, "utf8"));
  return { output: stdout.trim(), isCached: accepted };
}

async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

describe("the compile cache", () => {
  test("has what a start has compiled for the next one, for nobody else to read", async () => {
    await using folder = await tempDir();
    const state = join(folder.path, "state");
    expect(await startWith(folder.path, state)).toEqual({ output: "it is compiled", isCached: false });
    expect(await startWith(folder.path, state)).toEqual({ output: "it is compiled", isCached: true });
    expect((await stat(join(state, "compiled"))).mode & 0o777).toBe(0o700);
  });

  test.each([
    ["cut off", (file: string) => truncate(file, 100)],
    ["empty", (file: string) => truncate(file, 0)],
    ["overwritten", async (file: string) => await writeFile(file, (await readFile(file)).fill(0x5a, 64))],
  ])("ignores an entry that is %s, and makes a new one", async (_how, damage) => {
    await using folder = await tempDir();
    await startWith(folder.path, folder.path);
    for (const file of await filesIn(join(folder.path, "compiled"))) await damage(file);
    expect(await startWith(folder.path, folder.path)).toEqual({ output: "it is compiled", isCached: false });
    expect(await startWith(folder.path, folder.path)).toEqual({ output: "it is compiled", isCached: true });
  });

  test("is not used where its directory cannot be made", async () => {
    await using folder = await tempDir();
    await writeFile(join(folder.path, "compiled"), "a file");
    expect(await startWith(folder.path, folder.path)).toEqual({ output: "it is compiled", isCached: false });
  });

  test("is not used where other users can write, or could have written", async () => {
    await using folder = await tempDir();
    await startWith(folder.path, folder.path);
    const directory = join(folder.path, "compiled");
    await chmod(directory, 0o770);
    expect(await startWith(folder.path, folder.path)).toEqual({ output: "it is compiled", isCached: false });
    await chmod(directory, 0o700);
    expect(await startWith(folder.path, folder.path)).toEqual({ output: "it is compiled", isCached: true });
    if (process.getuid?.() !== 0) return;
    await chown(directory, 12_345, 12_345);
    expect(await startWith(folder.path, folder.path)).toEqual({ output: "it is compiled", isCached: false });
  });

  test("is not used without a state directory", async () => {
    await using folder = await tempDir();
    expect(await startWith(folder.path, "")).toEqual({ output: "it is compiled", isCached: false });
    expect((await readdir(folder.path)).toSorted()).toEqual(["log", "main.mjs", "module.mjs"]);
  });

  test("is in the first of several state directories", async () => {
    await using folder = await tempDir();
    const [first, second] = [join(folder.path, "first"), join(folder.path, "second")];
    await startWith(folder.path, `${first}:${second}`);
    expect(await filesIn(join(first, "compiled"))).not.toEqual([]);
    await expect(readdir(second)).rejects.toThrow("ENOENT");
  });

  test("is cleared when earlier releases have filled it", async () => {
    await using folder = await tempDir();
    const old = join(folder.path, "compiled", "v1");
    await mkdir(old, { recursive: true });
    await writeFile(join(old, "entry"), Buffer.alloc(4 * 1024 * 1024 + 1));
    await startWith(folder.path, folder.path);
    const left = await filesIn(join(folder.path, "compiled"));
    expect(left).not.toEqual([]);
    expect(left).not.toContain(join(old, "entry"));
  });
});
