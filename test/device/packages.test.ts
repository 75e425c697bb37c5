import { createHash } from "node:crypto";
import { mkdir, readFile, utimes, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { run, succeed } from "../support/command.ts";
import { testPackage } from "../support/device/test-package.ts";
import { tempDir } from "../support/temp-dir.ts";

const digest = async (path: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(path))
    .digest("hex");

/** Returns the paths in a package. Rejects if an entry does not belong to root. */
async function contents(path: string): Promise<string[]> {
  const lines = (await succeed("dpkg-deb", ["--contents", path])).trim().split("\n");
  expect(lines.filter((line) => !/^\S+ root\/root /.test(line))).toEqual([]);
  return lines.map((line) => line.slice(line.indexOf("./")));
}

const owned = new AsyncDisposableStack();
let folder: string;
let amd64: string;
let arm64: string;
beforeAll(async () => {
  folder = owned.use(await tempDir()).path;
  amd64 = await testPackage(folder, { arch: "x64" });
  arm64 = await testPackage(folder, { arch: "arm64", compression: "none" });
});
afterAll(() => owned.disposeAsync());

test("the package build is reproducible: independent of time and user", async () => {
  await utimes("packaging/postinst", new Date(), new Date());
  const before = process.umask(0o077);
  try {
    const again = await testPackage(join(folder, "again"), { arch: "x64" });
    expect(await digest(again)).toBe(await digest(amd64));
  } finally {
    process.umask(before);
  }
});

test("the packages contain the same files, owned by root, and each is for its named architecture", async () => {
  expect(await contents(amd64)).toEqual(await contents(arm64));
  for (const [path, machine] of [
    [amd64, "X86-64"],
    [arm64, "AArch64"],
  ] as const) {
    const files = join(folder, "files");
    await succeed("dpkg-deb", ["--extract", path, files]);
    for (const name of ["node", "lib/libatomic.so.1"]) {
      const header = await succeed("x86_64-linux-gnu-readelf", [
        "--file-header",
        join(files, "usr/lib/edge-agent", name),
      ]);
      expect(header).toContain(machine);
    }
  }
});

test("a file whose checksum differs from the lock file is not packaged", async () => {
  await using project = await tempDir();
  const cached = join(project.path, ".cache/npm-packages/thing-1.0.0.tgz");
  await mkdir(dirname(cached), { recursive: true });
  const integrity = `sha512-${createHash("sha512").update("as published").digest("base64")}`;
  const lock = { packages: { "node_modules/thing": { version: "1.0.0", integrity } } };
  await writeFile(join(project.path, "package-lock.json"), JSON.stringify(lock));
  const module = pathToFileURL(resolve("scripts/packaging/npm-package.ts")).href;
  const fetch = `const { fetchPackage } = await import("${module}"); console.log(await fetchPackage("thing"));`;
  // An unreachable registry: only cached packages can be used.
  const options = {
    cwd: project.path,
    env: { npm_config_registry: "http://127.0.0.1:9/", npm_config_fetch_retries: "0" },
  };
  const attempt = (): ReturnType<typeof run> => run(process.execPath, ["--input-type=module", "-e", fetch], options);

  await writeFile(cached, "tampered with");
  expect((await attempt()).code).not.toBe(0);
  await writeFile(cached, "as published");
  expect(await attempt()).toMatchObject({ code: 0, stdout: ".cache/npm-packages/thing-1.0.0.tgz\n" });
});
