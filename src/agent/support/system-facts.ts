import { readFile } from "node:fs/promises";
import { networkInterfaces, release, uptime, version as kernelVersion } from "node:os";
import type { BundleFile } from "./archive.ts";

/** System files that are useful for support and contain no secrets. */
const FILES = [
  "/etc/os-release",
  "/etc/resolv.conf",
  "/proc/meminfo",
  "/proc/loadavg",
  "/proc/mounts",
  "/proc/cgroups",
  "/proc/net/dev",
  "/proc/net/route",
  "/proc/sys/fs/file-nr",
  "/proc/sys/net/ipv4/ip_local_port_range",
  "/proc/sys/net/ipv4/ip_local_reserved_ports",
] as const;

const MAX_FILE_BYTES = 256 * 1024;

/** Returns the system files and versions for a support bundle. */
export async function systemFacts(agentVersion: string, nowMs: number): Promise<BundleFile[]> {
  const versions = {
    agent: agentVersion,
    node: process.version,
    architecture: process.arch,
    kernel: `${release()} ${kernelVersion()}`,
    time: new Date(nowMs).toISOString(),
    uptime_s: Math.round(uptime()),
    interfaces: networkInterfaces(),
  };
  const read = FILES.map(async (path) => ({ name: `system${path}`, content: await textOf(path) }));
  return [{ name: "versions.json", content: JSON.stringify(versions, undefined, 2) }, ...(await Promise.all(read))];
}

async function textOf(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).slice(0, MAX_FILE_BYTES);
  } catch (error) {
    return `cannot be read: ${(error as NodeJS.ErrnoException).code ?? "unknown"}\n`;
  }
}
