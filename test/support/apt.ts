import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run, succeed } from "./command.ts";
import { tempDir } from "./temp-dir.ts";

/** A release of a distribution, other than the one this machine installs from. */
export interface PackageSource {
  readonly uri: string;
  readonly suite: string;
  readonly components: readonly string[];
  /** Path of the keys it is signed with. */
  readonly keyring: string;
}

/** Packages cannot be had here, such as where there is no network. The message says why, in apt's words. */
export class PackagesUnavailable extends Error {
  override readonly name = "PackagesUnavailable";
}

/**
 * Unpacks the newest packages of a release into a directory, nothing of them run or installed. apt checks their
 * signatures, with lists of its own: those of the machine stay as they are. Rejects with `PackagesUnavailable`.
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
    // What does not come is an error: otherwise an old list would do.
    "APT::Update::Error-Mode": "any",
    // Its own user may not write to a directory of root's.
    "APT::Sandbox::User": "root",
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  const command = ["-qq", ...options, ...args];
  const { code, stderr } = await run("apt-get", command, { cwd: directory, timeoutMs: 300_000 }).catch(notThere);
  if (code !== 0) throw new PackagesUnavailable(firstError(stderr));
}

function notThere(): { readonly code: null; readonly stderr: string } {
  return { code: null, stderr: "E: there is no apt-get" };
}

/** Those after it say what came of it. */
function firstError(output: string): string {
  const said = output.split("\n").find((line) => /^[EW]: /.test(line));
  return said?.slice("E: ".length).replace(/\s+/g, " ").trim() ?? "apt-get does not say why";
}
