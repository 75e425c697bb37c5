import { ARCHITECTURES } from "../../../scripts/packaging/architectures.ts";
import { buildPackage } from "../../../scripts/packaging/build-package.ts";
import { VERSION } from "../../../src/lib/version.ts";

/** A version that comes after the one of this project. */
export const NEXT_VERSION = `${VERSION}+next1`;

/** Makes the package of this machine's architecture, or of another; as `npm run package` does, but compressed in haste. */
export async function testPackage(
  folder: string,
  { version = VERSION, arch = process.arch }: { readonly version?: string; readonly arch?: string } = {},
): Promise<string> {
  const architecture = ARCHITECTURES.find(({ node }) => node === arch);
  if (!architecture) throw new Error(`there is no package for ${arch}`);
  return await buildPackage({ architecture, version, folder, compression: "quick" });
}
