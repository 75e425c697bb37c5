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

/**
 * Lists the files of the package. @param runtime folder with Node.js for the device @param dist folder with the bundles
 */
export async function packagedFiles(runtime: string, dist: string): Promise<PackagedFile[]> {
  const program = (await readdir(dist)).filter((name) => /^edge-agent\..*mjs$/.test(name)).toSorted();
  const libraries = (await readdir(join(runtime, LIBRARIES))).toSorted();
  return [
    { from: join(runtime, "node"), to: `${INSTALL_DIR}/node`, mode: 0o755 },
    ...libraries.map((name) => file(join(runtime, LIBRARIES, name), `${INSTALL_DIR}/${LIBRARIES}/${name}`)),
    { from: join(dist, "edge-agent"), to: `${INSTALL_DIR}/edge-agent`, mode: 0o755 },
    ...program.map((name) => file(join(dist, name), `${INSTALL_DIR}/${name}`)),
    { from: "packaging/is-enrolled", to: `${INSTALL_DIR}/is-enrolled`, mode: 0o755 },
    file("packaging/left-behind.mjs", `${INSTALL_DIR}/left-behind.mjs`),
    file("systemd/restart-backoff.conf", `${INSTALL_DIR}/restart-backoff.conf`),
    file("systemd/edge-agent.service", "/usr/lib/systemd/system/edge-agent.service"),
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
