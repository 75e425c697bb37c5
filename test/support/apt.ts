import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run, succeed } from "./command.ts";
import { tempDir } from "./temp-dir.ts";

/** A release of a distribution other than this machine's. */
export interface PackageSource {
  readonly uri: string;
  readonly suite: string;
  readonly components: readonly string[];
  /** Path of the keys that sign it. */
  readonly keyring: string;
}

/** Packages cannot be downloaded, such as without a network. The message is apt's. */
export class PackagesUnavailable extends Error {
  override readonly name = "PackagesUnavailable";
}

/**
 * Returns the address from which this machine's apt takes the packages of a distribution. Rejects with `PackagesUnavailable`
 * if it takes none.
 */
export async function findArchive(distribution: string): Promise<string> {
  const filter = ["Created-By: Packages", `Origin: ${distribution}`, `Label: ${distribution}`, "Component: main"];
  const { stdout } = await run("apt-get", ["indextargets", "--format", "$(REPO_URI)", ...filter]).catch(aptGetMissing);
  const [address = ""] = stdout.split("\n");
  if (address === "") throw new PackagesUnavailable(`apt has no source of ${distribution}'s packages`);
  return address;
}

/**
 * Unpacks the newest packages of a release into a directory without installing them. apt checks the signatures and
 * uses separate lists, so that the machine's stay unchanged. Rejects with `PackagesUnavailable`.
 */
export async function unpackPackages(
  source: PackageSource,
  packages: readonly string[],
  directory: string,
): Promise<void> {
  await using work = await tempDir();
  const { uri, suite, components, keyring } = source;
  await writeFile(join(work.path, "sources"), `deb [signed-by=${keyring}] ${uri} ${suite} ${components.join(" ")}\n`);
  await aptGet(work.path, ["update"]);
  await aptGet(work.path, ["download", ...packages]);
  const files = (await readdir(work.path)).filter((name) => name.endsWith(".deb"));
  for (const file of files) await succeed("dpkg-deb", ["-x", join(work.path, file), directory]);
}

async function aptGet(directory: string, args: readonly string[]): Promise<void> {
  const settings = {
    "Dir::Etc::SourceList": join(directory, "sources"),
    "Dir::Etc::SourceParts": "-",
    "Dir::Etc::Preferences": "-",
    "Dir::Etc::PreferencesParts": "-",
    "Dir::State": directory,
    "Dir::State::Status": "/dev/null",
    "Dir::Cache": directory,
    "Acquire::Languages": "none",
    "Acquire::http::Timeout": "10",
    // A failed download is an error; by default apt would use an old list.
    "APT::Update::Error-Mode": "any",
    // apt's sandbox user may not write to a directory of root.
    "APT::Sandbox::User": "root",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  const command = ["-qq", ...options, ...args];
  const { code, stderr } = await run("apt-get", command, { cwd: directory, timeoutMs: 300_000 }).catch(aptGetMissing);
  if (code !== 0) throw new PackagesUnavailable(firstError(stderr));
}

function aptGetMissing(): { readonly code: null; readonly stdout: string; readonly stderr: string } {
  return { code: null, stdout: "", stderr: "E: apt-get is not installed" };
}

/** The first error or warning; later ones are its consequences. */
function firstError(output: string): string {
  const line = output.split("\n").find((candidate) => /^[EW]: /.test(candidate));
  return line?.slice("E: ".length).replace(/\s+/g, " ").trim() ?? "apt-get failed without a message";
}
