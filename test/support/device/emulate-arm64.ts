import { readFile, writeFile } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { run } from "../command.ts";

const FOLDER = "/proc/sys/fs/binfmt_misc";
/** binfmt_misc rule of Debian's package qemu-user-static: recognizes arm64 programs and names their interpreter. */
const DEBIAN_RULE = "/usr/lib/binfmt.d/qemu-aarch64.conf";

/**
 * Makes the kernel run arm64 programs, until disposed. Returns the reason as text if it cannot.
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
  // A separate rule, which can be removed without touching others.
  const name = `eat-${randomBytes(4).toString("hex")}`;
  try {
    await writeFile(`${FOLDER}/register`, rule.trim().replace(/^:[^:]+:/, `:${name}:`));
  } catch (error) {
    return `the kernel rejects the binfmt_misc rule: ${String(error)}`;
  }
  return { [Symbol.asyncDispose]: () => writeFile(`${FOLDER}/${name}`, "-1") };
}
