import { ARCHITECTURES } from "../../../scripts/packaging/architectures.ts";
import { buildPackage } from "../../../scripts/packaging/build-package.ts";
import { VERSION } from "../../../src/lib/version.ts";

/** A version higher than this project's. */
export const NEXT_VERSION = `${VERSION}+next1`;

/** Builds the package as `npm run package` does, with fast compression. Default: this machine's architecture. */
export async function testPackage(
  folder: string,
  { version = VERSION, arch = process.arch }: { readonly version?: string; readonly arch?: string } = {},
): Promise<string> {
  const architecture = ARCHITECTURES.find(({ node }) => node === arch);
  if (!architecture) throw new Error(`there is no package for ${arch}`);
  return await buildPackage({ architecture, version, folder, compression: "quick" });
}
