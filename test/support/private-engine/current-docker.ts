import { join } from "node:path";
import { readdir, readFile } from "node:fs/promises";
import { findArchive, type PackageSource, PackagesUnavailable, unpackPackages } from "../apt.ts";
import { cached } from "../cached.ts";
import { run } from "../command.ts";
import { type PrivateEngineOptions, privateEngineUnavailableReason } from "../private-engine.ts";
import { tempDir } from "../temp-dir.ts";

/** A newer Docker than the machine's, for a `PrivateEngine`. */
export interface CurrentDocker {
  /** Includes its version and image store. */
  readonly name: string;
  /** The name, or the reason why it is missing. */
  readonly title: string;
  /** Why it cannot be started here; `undefined` if it can. */
  readonly missing: string | undefined;
  readonly engine: PrivateEngineOptions;
}

const CACHE = ".cache/docker";

async function debianTesting(): Promise<PackageSource> {
  return {
    uri: await findArchive("Debian"),
    suite: "testing",
    components: ["main"],
    keyring: "/usr/share/keyrings/debian-archive-keyring.gpg",
  };
}

/** @param from directory with Debian's packages `ubuntu-keyring` and `python-apt-common`: Ubuntu's keys and where it is */
async function ubuntuDevel(from: string): Promise<PackageSource> {
  const templates = join(from, "usr/share/python-apt/templates");
  // Some releases write its name in lower case.
  const file = (await readdir(templates)).find((name) => name.toLowerCase() === "ubuntu.info");
  const about = file === undefined ? "" : await readFile(join(templates, file), "utf8");
  const architecture = process.arch === "x64" ? "-amd64" : "";
  const uri = new RegExp(`^BaseURI${architecture}: (.+)$`, "m").exec(about)?.[1];
  if (uri === undefined) throw new Error("python-apt-common does not say where Ubuntu's packages are");
  return {
    uri,
    suite: "devel",
    components: ["main", "universe"],
    keyring: join(from, "usr/share/keyrings/ubuntu-archive-keyring.gpg"),
  };
}

// Go programs, which run on any Debian. Not runc, which needs the C library it was built with.
const PROGRAMS = ["docker.io", "containerd", "tini-static"];

/** Both current Dockers. They are downloaded once and cached; remove the cache folder to update them. */
export async function currentDockers(): Promise<readonly CurrentDocker[]> {
  return [await debianDocker(), await newestDocker()];
}

/** The Docker of Debian's next release, with the classic image store, the default before version 29. */
export function debianDocker(): Promise<CurrentDocker> {
  return docker(fromDebian, "classic");
}

/** The Docker of Ubuntu's next release, with containerd's image store, the default since version 29. */
export function newestDocker(): Promise<CurrentDocker> {
  return docker(fromUbuntu, "containerd");
}

async function docker(fetch: () => Promise<string>, imageStore: "classic" | "containerd"): Promise<CurrentDocker> {
  const store = imageStore === "classic" ? "its classic store" : "containerd's store";
  const without = (missing: string): CurrentDocker => {
    const name = `a current Docker with ${store}`;
    return { name, title: `${name} (skipped: ${missing})`, missing, engine: {} };
  };
  const missing = await privateEngineUnavailableReason();
  if (missing !== undefined) return without(missing);
  try {
    const folder = await fetch();
    const programs = [join(folder, "usr/sbin"), join(folder, "usr/bin")];
    const env = { PATH: [...programs, process.env["PATH"]].join(":") };
    const { stdout, stderr } = await run("dockerd", ["--version"], { env });
    const [, version] = /version ([\d.]+)/.exec(stdout) ?? [];
    // For example, built for another C library.
    if (version === undefined) return without(`it does not run on this machine: ${stderr.trim().slice(0, 200)}`);
    const name = `Docker ${version} with ${store}`;
    return { name, title: name, missing: undefined, engine: { programs, imageStore } };
  } catch (error) {
    if (error instanceof PackagesUnavailable) return without(error.message);
    throw error;
  }
}

function fromDebian(): Promise<string> {
  return cached(CACHE, "debian-testing", async (directory) =>
    unpackPackages(await debianTesting(), PROGRAMS, directory),
  );
}

async function fromUbuntu(): Promise<string> {
  return cached(CACHE, "ubuntu-devel", async (directory) => {
    await using about = await tempDir();
    // Debian packages what is needed to trust and find Ubuntu's, and this machine has Debian's keys.
    await unpackPackages(await debianTesting(), ["ubuntu-keyring", "python-apt-common"], about.path);
    await unpackPackages(await ubuntuDevel(about.path), PROGRAMS, directory);
  });
}
