import { readFile, writeFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { run } from "../command.ts";

const FOLDER = "/proc/sys/fs/binfmt_misc";
/** Of Debian's package qemu-user-static: how the kernel tells programs for arm64, and what it is to run them with. */
const DEBIAN_RULE = "/usr/lib/binfmt.d/qemu-aarch64.conf";

/**
 * Has the kernel run programs for arm64, where it does not yet, until disposed. Answers why that cannot be done where it
 * cannot.
 */
export async function emulateArm64(): Promise<AsyncDisposable | string> {
  const nothing: AsyncDisposable = { [Symbol.asyncDispose]: async () => undefined };
  if (process.arch === "arm64") return nothing;
  if (process.getuid?.() !== 0) return "emulating arm64 needs root";
  const rule = await readFile(DEBIAN_RULE, "utf8").catch(() => undefined);
  if (rule === undefined) return "qemu-user-static is not installed";
  if ((await readFile(`${FOLDER}/status`, "utf8").catch(() => "")) === "") {
    const { code, stderr } = await run("mount", ["-t", "binfmt_misc", "binfmt_misc", FOLDER]);
    if (code !== 0) return `the kernel has no binfmt_misc: ${stderr.trim()}`;
  }
  // A rule of its own, so that it can be taken away again whatever others there are.
  const name = `eat-${randomBytes(4).toString("hex")}`;
  try {
    await writeFile(`${FOLDER}/register`, rule.trim().replace(/^:[^:]+:/, `:${name}:`));
  } catch (error) {
    return `the kernel takes no rule of binfmt_misc: ${String(error)}`;
  }
  return { [Symbol.asyncDispose]: () => writeFile(`${FOLDER}/${name}`, "-1") };
}
