import { existsSync } from "node:fs";
import { readFile, stat, statfs } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { join } from "node:path";
import type { HostCapacity } from "../core/deployment/check.ts";
import type { ListeningPort } from "../core/host/proc-net.ts";
import { type HostPort, isSamePort } from "../core/host/host-port.ts";
import { containerIdOf, findPrivateMount, type MountEntry, parseMountinfo } from "../core/policy/mountinfo.ts";
import type { ResolvedPath } from "../core/policy/resolved-path.ts";
import { parseProcNet } from "../core/host/proc-net.ts";
import type { Host, HostProcess } from "./host.ts";
import { PathResolver } from "./path-resolver.ts";
import { findSocketHolder } from "./socket-holder.ts";

/** @param proc mount point of procfs, and `sys` of sysfs */
export function createLinuxHost(proc: string = "/proc", sys: string = "/sys"): Host {
  return new LinuxHost(proc, sys);
}

class LinuxHost implements Host {
  readonly #proc: string;
  /** Disks of the kernel, by their numbers. */
  readonly #blockDevices: string;
  readonly #pathResolver = new PathResolver();

  constructor(proc: string, sys: string) {
    this.#proc = proc;
    this.#blockDevices = join(sys, "dev/block");
  }

  async listeningPorts(signal: AbortSignal): Promise<ListeningPort[]> {
    const read = async (protocol: HostPort["protocol"], table: string): Promise<ListeningPort[]> =>
      parseProcNet(await this.#readTable(table, signal), protocol);
    const tables = [read("tcp", "tcp"), read("tcp", "tcp6"), read("udp", "udp"), read("udp", "udp6")];
    return (await Promise.all(tables)).flat();
  }

  async findPortHolder(port: HostPort, signal: AbortSignal): Promise<HostProcess | undefined> {
    const sockets = (await this.listeningPorts(signal)).filter((socket) => isSamePort(socket, port));
    return await findSocketHolder(this.#proc, new Set(sockets.map(({ inode }) => inode)), signal);
  }

  async freeBytes(path: string): Promise<number | undefined> {
    try {
      const { bavail, bsize } = await statfs(path);
      return bavail * bsize;
    } catch {
      return undefined;
    }
  }

  async freeInodes(path: string): Promise<number | undefined> {
    try {
      const { files, ffree } = await statfs(path);
      // File systems without a fixed number of inodes report 0.
      return files > 0 ? ffree : undefined;
    } catch {
      return undefined;
    }
  }

  async freeShare(path: string): Promise<number | undefined> {
    try {
      const { bavail, blocks } = await statfs(path);
      return blocks > 0 ? bavail / blocks : undefined;
    } catch {
      return undefined;
    }
  }

  resolvePath(path: string): Promise<ResolvedPath> {
    return this.#pathResolver.resolve(path);
  }

  async readMounts(): Promise<readonly MountEntry[]> {
    const mounts = parseMountinfo(await readFile(join(this.#proc, "self", "mountinfo"), "utf8"));
    return mounts.map((mount) => Object.assign(mount, { hasFailed: mount.hasFailed || this.#isPulled(mount.device) }));
  }

  /** Whether the disk of a file system was pulled. File systems without one of their own have the major number 0. */
  #isPulled(device: string): boolean {
    return !device.startsWith("0:") && existsSync(this.#blockDevices) && !existsSync(join(this.#blockDevices, device));
  }

  async isDevice(path: string): Promise<boolean> {
    try {
      const found = await stat(path);
      return found.isCharacterDevice() || found.isBlockDevice() || found.isDirectory();
    } catch {
      return false;
    }
  }

  async isMissing(path: string): Promise<boolean> {
    try {
      await stat(path);
      return false;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "ENOENT" && !(await this.#isOfOwnView(path));
    }
  }

  /** Whether this process may see something else at the path than the engine, in a container or under a mount of its own. */
  async #isOfOwnView(path: string): Promise<boolean> {
    const mounts = await this.readMounts();
    const { real, unresolved } = await this.resolvePath(path);
    return (
      containerIdOf(mounts) !== undefined || unresolved !== undefined || findPrivateMount(real, mounts) !== undefined
    );
  }

  capacity(): HostCapacity {
    return { memoryBytes: totalmem(), cpus: cpus().length };
  }

  async #readTable(table: string, signal: AbortSignal): Promise<string> {
    try {
      return await readFile(join(this.#proc, "net", table), { encoding: "utf8", signal });
    } catch (error) {
      signal.throwIfAborted();
      // A kernel without IPv6 has no such table.
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
      throw error;
    }
  }
}
