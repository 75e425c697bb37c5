import { mkdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run, succeed } from "./command.ts";
import { tempDir } from "./temp-dir.ts";

/** Why no disk of a given size can be made here; `undefined` where one can. */
export async function smallDiskMissing(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "mounting a disk needs root";
  const made = await run("mkfs.ext4", ["-V"]).catch(() => undefined);
  return made?.code === 0 ? undefined : "mkfs.ext4 is not installed";
}

/** A mounted file system of a few megabytes, to be filled up. Needs Debian's packages e2fsprogs and mount, and root. */
export async function smallDisk(megabytes: number): Promise<{ readonly path: string } & AsyncDisposable> {
  await using undo = new AsyncDisposableStack();
  const directory = undo.use(await tempDir());
  const [image, path] = [join(directory.path, "disk.img"), join(directory.path, "disk")];
  await writeFile(image, "");
  await truncate(image, megabytes * 1_000_000);
  await mkdir(path);
  await succeed("mkfs.ext4", ["-q", "-m", "0", image]);
  await succeed("mount", ["-o", "loop", image, path]);
  undo.defer(async () => void (await run("umount", ["--lazy", path])));
  const owned = undo.move();
  return { path, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
