import { join } from "node:path";
import { type PackageSource, PackagesUnavailable, unpackPackages } from "../apt.ts";
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

const DEBIAN_TESTING: PackageSource = {
  uri: "http://deb.debian.org/debian",
  suite: "testing",
  components: ["main"],
  keyring: "/usr/share/keyrings/debian-archive-keyring.gpg",
};

const ubuntuDevel = (keys: string): PackageSource => ({
  uri: process.arch === "arm64" ? "http://ports.ubuntu.com/ubuntu-ports" : "http://archive.ubuntu.com/ubuntu",
  suite: "devel",
  components: ["main", "universe"],
  keyring: join(keys, "usr/share/keyrings/ubuntu-archive-keyring.gpg"),
});

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
  return cached(CACHE, "debian-testing", (directory) => unpackPackages(DEBIAN_TESTING, PROGRAMS, directory));
}

async function fromUbuntu(): Promise<string> {
  return cached(CACHE, "ubuntu-devel", async (directory) => {
    await using keys = await tempDir();
    // Debian packages Ubuntu's keys, and this machine has Debian's.
    await unpackPackages(DEBIAN_TESTING, ["ubuntu-keyring"], keys.path);
    await unpackPackages(ubuntuDevel(keys.path), PROGRAMS, directory);
  });
}
