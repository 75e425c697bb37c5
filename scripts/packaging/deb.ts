import { execFile } from "node:child_process";
import { chmod, copyFile, mkdir, readFile, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import type { Architecture } from "./architectures.ts";
import { CONFIG, INSTALL_DIR, type PackagedFile } from "./layout.ts";

const MAINTAINER_SCRIPTS = ["postinst", "prerm", "postrm"];

/** `small` takes a minute; `quick` takes seconds and a quarter more space. install.sh cannot unpack `none`. */
export type Compression = "small" | "quick" | "none";

// With threads, the compressed blocks would depend on their number.
const OPTIONS: Readonly<Record<Compression, readonly string[]>> = {
  small: ["-Zxz", "-z9", "-Sextreme", "--threads-max=1"],
  quick: ["-Zxz", "-z0", "--threads-max=1"],
  none: ["-Znone"],
};

export interface DebOptions {
  readonly version: string;
  readonly architecture: Architecture;
  readonly files: readonly PackagedFile[];
  /** Existing empty folder, in which the files are laid out as on the device. */
  readonly staging: string;
  readonly output: string;
  /** Date of every file in Unix seconds, so that builds are reproducible. */
  readonly epoch: number;
  readonly compression: Compression;
}

/** Writes a package for Debian and derived systems. */
export async function writeDeb({ staging, output, epoch, compression, ...content }: DebOptions): Promise<void> {
  await stage(content.files, staging);
  await mkdir(join(staging, "usr/bin"), { recursive: true });
  await symlink(`..${INSTALL_DIR.slice("/usr".length)}/launcher`, join(staging, "usr/bin/edge-agent"));
  await writeControl(content, staging);
  await setFolderModes(staging);
  const options = ["--root-owner-group", ...OPTIONS[compression]];
  await promisify(execFile)("dpkg-deb", [...options, "--build", staging, output], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
  });
}

async function stage(files: readonly PackagedFile[], staging: string): Promise<void> {
  for (const { from, to, mode, compress } of files) {
    const target = join(staging, to);
    await mkdir(dirname(target), { recursive: true });
    if (compress) await writeFile(target, gzipSync(await readFile(from), { level: 9 }));
    else await copyFile(from, target);
    await chmod(target, mode);
  }
}

/** Sets folder modes independent of the umask. */
async function setFolderModes(staging: string): Promise<void> {
  for (const entry of await readdir(staging, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o755);
  }
  await chmod(staging, 0o755);
}

async function writeControl(
  { version, architecture, files }: Pick<DebOptions, "version" | "architecture" | "files">,
  staging: string,
): Promise<void> {
  const folder = join(staging, "DEBIAN");
  await mkdir(folder);
  const sizes = await Promise.all(files.map(async ({ to }) => (await stat(join(staging, to))).size));
  const kilobytes = sizes.reduce((sum, size) => sum + Math.ceil(size / 1024), 0);
  const template = await readFile("packaging/control", "utf8");
  const values = { VERSION: version, ARCHITECTURE: architecture.debian, INSTALLED_SIZE: String(kilobytes) };
  const control = template.replaceAll(/@(\w+)@/g, (_, name: string) => values[name as keyof typeof values]);
  await writeFile(join(folder, "control"), control);
  await writeFile(join(folder, "conffiles"), `${CONFIG}\n`);
  for (const name of ["control", "conffiles"]) await chmod(join(folder, name), 0o644);
  for (const script of MAINTAINER_SCRIPTS) {
    await copyFile(join("packaging", script), join(folder, script));
    await chmod(join(folder, script), 0o755);
  }
}
