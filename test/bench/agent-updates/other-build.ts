import type { KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { succeed } from "../../support/command.ts";

/** Of another checkout, whose own scripts write it. */
export interface OtherBuild {
  /** Its commit. */
  readonly commit: string;
  readonly deb: string;
  /** Layout of its release. */
  readonly layout: string;
}

interface OtherBuildOptions {
  /** The `dist/` of the checkout. */
  readonly dist: string;
  /** Where both are written. */
  readonly folder: string;
  /** Private key of the signer, whom package and release trust. */
  readonly key: KeyObject;
  /** Versions that package and release say they are. */
  readonly packageVersion: string;
  readonly releaseVersion: string;
}

/** Run by the checkout's Node.js in the checkout: package and release are made as that commit makes them. */
const SCRIPT = `
const [root, folder, key, packageVersion, releaseVersion] = process.argv.slice(1);
const load = (path) => import(root + "/scripts/packaging/" + path + ".ts");
const { createPrivateKey, createPublicKey } = await import("node:crypto");
const { readFileSync } = await import("node:fs");
const { ARCHITECTURES } = await load("architectures");
const { buildPackage } = await load("build-package");
const { writeRelease } = await load("write-release");
const own = ARCHITECTURES.filter(({ node }) => node === process.arch);
const privateKey = createPrivateKey(readFileSync(key));
const common = { folder, trustedKeys: [createPublicKey(privateKey)] };
const deb = await buildPackage({ ...common, compression: "none", architecture: own[0], version: packageVersion });
const layout = await writeRelease({ ...common, compression: "quick", architectures: own, version: releaseVersion, key: privateKey });
console.log(JSON.stringify({ deb, layout }));
`;

/** Makes package and release of another checkout that was built. */
export async function makeOtherBuild(options: OtherBuildOptions): Promise<OtherBuild> {
  const { folder, key, packageVersion, releaseVersion } = options;
  const dist = resolve(options.dist);
  if (!existsSync(join(dist, "edge-agent"))) throw new Error(`${dist} has no build of edge-agent`);
  const checkout = dirname(dist);
  await mkdir(folder, { recursive: true });
  const keyFile = join(folder, "key.pem");
  await writeFile(keyFile, key.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
  const script = ["--input-type=module", "--eval", SCRIPT];
  const args = [checkout, folder, keyFile, packageVersion, releaseVersion];
  const output = await succeed(process.execPath, [...script, ...args], { cwd: checkout, timeoutMs: 600_000 });
  const { deb, layout } = JSON.parse(output.trim().split("\n").at(-1) ?? "") as Pick<OtherBuild, "deb" | "layout">;
  const commit = (await succeed("git", ["rev-parse", "--short=8", "HEAD"], { cwd: checkout })).trim();
  return { commit, deb, layout };
}
