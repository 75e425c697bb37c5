import { copyFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { VERSION } from "../src/lib/version.ts";
import { build } from "./bundling/build.ts";
import { ARCHITECTURES } from "./packaging/architectures.ts";
import { buildPackage } from "./packaging/build-package.ts";
import { readSigningKey, trustedKeys, warnOfNoKey } from "./packaging/release-key.ts";
import { writeRelease } from "./packaging/write-release.ts";
import { setUp } from "./setup/set-up.ts";

const FOLDER = "dist/packages";
/** Limit for packages: they are sent to thousands of devices over metered links. */
const MAX_PACKAGE_BYTES = 35_000_000;

const { values } = parseArgs({ options: { sign: { type: "string" } } });
const key = values.sign === undefined ? undefined : await readSigningKey(values.sign);
await setUp(["packaging"]);
await build({ onlyIfChanged: true });
await rm(FOLDER, { recursive: true, force: true });
const keys = await trustedKeys(key);
const common = { version: VERSION, folder: FOLDER, compression: "small", trustedKeys: keys } as const;
const packages = await Promise.all(ARCHITECTURES.map((architecture) => buildPackage({ ...common, architecture })));
await copyFile("packaging/install.sh", join(FOLDER, "install.sh"));
for (const path of packages) {
  const { size } = await stat(path);
  console.log(`${path} ${(size / 1_000_000).toFixed(1).padStart(6)} MB`);
  if (size > MAX_PACKAGE_BYTES) throw new Error(`${path} is larger than ${MAX_PACKAGE_BYTES / 1_000_000} MB`);
}
const release = await writeRelease({ ...common, architectures: ARCHITECTURES, key });
console.log(
  `${release} ${key ? "signed" : "not signed: no device takes it. To sign it: npm run package -- --sign KEY.pem"}`,
);
const warning = warnOfNoKey(keys);
if (warning !== undefined) console.warn(warning);
