import type { KeyObject } from "node:crypto";
import { ARCHITECTURES } from "../../../scripts/packaging/architectures.ts";
import type { Compression } from "../../../scripts/packaging/deb.ts";
import { buildPackage } from "../../../scripts/packaging/build-package.ts";
import { VERSION } from "../../../src/lib/version.ts";

/** A version higher than this project's. */
export const NEXT_VERSION = `${VERSION}+next1`;

interface TestPackage {
  readonly version?: string;
  /** Default: this machine's. */
  readonly arch?: string;
  /** Default: a fast one. */
  readonly compression?: Compression;
  /** Default: none. */
  readonly trustedKeys?: readonly KeyObject[];
}

/** Builds the package as `npm run package` does, with less compression. */
export async function testPackage(
  folder: string,
  { version = VERSION, arch = process.arch, compression = "quick", trustedKeys = [] }: TestPackage = {},
): Promise<string> {
  const architecture = ARCHITECTURES.find(({ node }) => node === arch);
  if (!architecture) throw new Error(`there is no package for ${arch}`);
  return await buildPackage({ architecture, version, folder, compression, trustedKeys });
}
