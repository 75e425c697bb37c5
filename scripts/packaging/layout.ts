import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { LIBRARIES } from "../bundling/runtime.ts";

/** A file of the package. */
export interface PackagedFile {
  /** Source path. */
  readonly from: string;
  /** Path on the device. */
  readonly to: string;
  readonly mode: number;
  /** Whether to compress with gzip, as Debian requires for manual pages and changelogs. */
  readonly compress?: boolean;
}

/** Folder on the device for the program and its runtime. */
export const INSTALL_DIR = "/usr/lib/edge-agent";
export const CONFIG = "/etc/edge-agent/config.json";

const UNITS = [
  "edge-agent.service",
  "edge-agent-update.path",
  "edge-agent-update.service",
  "edge-agent-trial.timer",
  "edge-agent-trial.service",
];
/** What stays the package's, whatever version runs: it starts versions, installs them and goes back. */
const SCRIPTS = ["launcher", "release-trial"];

/**
 * Lists the files of one version of the program: what a release consists of. Paths are relative to its folder.
 *
 * @param runtime folder with Node.js for the device @param dist folder with the bundles
 */
export async function programFiles(runtime: string, dist: string): Promise<PackagedFile[]> {
  const program = (await readdir(dist)).filter((name) => /^edge-agent\..*mjs$/.test(name)).toSorted();
  const libraries = (await readdir(join(runtime, LIBRARIES))).toSorted();
  return [
    { from: join(runtime, "node"), to: "node", mode: 0o755 },
    ...libraries.map((name) => file(join(runtime, LIBRARIES, name), `${LIBRARIES}/${name}`)),
    { from: join(dist, "edge-agent"), to: "edge-agent", mode: 0o755 },
    ...program.map((name) => file(join(dist, name), name)),
  ];
}

/** Lists the files of the package. The parameters are those of `programFiles`. */
export async function packagedFiles(runtime: string, dist: string): Promise<PackagedFile[]> {
  const program = await programFiles(runtime, dist);
  return [
    ...program.map((entry) => ({ from: entry.from, to: `${INSTALL_DIR}/${entry.to}`, mode: entry.mode })),
    ...SCRIPTS.map((name) => ({ from: `packaging/${name}`, to: `${INSTALL_DIR}/${name}`, mode: 0o755 })),
    file("packaging/select-release", `${INSTALL_DIR}/select-release`),
    { from: join(dist, "edge-agent-update"), to: `${INSTALL_DIR}/edge-agent-update`, mode: 0o755 },
    file(join(dist, "edge-agent-update.mjs"), `${INSTALL_DIR}/edge-agent-update.mjs`),
    { from: "packaging/is-enrolled", to: `${INSTALL_DIR}/is-enrolled`, mode: 0o755 },
    file("packaging/left-behind.mjs", `${INSTALL_DIR}/left-behind.mjs`),
    file("systemd/restart-backoff.conf", `${INSTALL_DIR}/restart-backoff.conf`),
    ...UNITS.map((name) => file(`systemd/${name}`, `/usr/lib/systemd/system/${name}`)),
    file("packaging/sysusers.conf", "/usr/lib/sysusers.d/edge-agent.conf"),
    { from: "packaging/config.json", to: CONFIG, mode: 0o640 },
    file("config.example.json", "/usr/share/doc/edge-agent/config.example.json"),
    { ...file("man/edge-agent.8", "/usr/share/man/man8/edge-agent.8.gz"), compress: true },
    file("packaging/copyright", "/usr/share/doc/edge-agent/copyright"),
    { ...file(join(runtime, "LICENSE"), "/usr/share/doc/edge-agent/copyright.node.gz"), compress: true },
    { ...file("CHANGELOG.md", "/usr/share/doc/edge-agent/changelog.gz"), compress: true },
  ];
}

function file(from: string, to: string): PackagedFile {
  return { from, to, mode: 0o644 };
}
