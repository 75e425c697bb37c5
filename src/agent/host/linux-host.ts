import { readFile, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { ListeningPort } from "../core/proc-net.ts";
import { parseProcNetTcp } from "../core/proc-net.ts";
import type { Host, HostProcess } from "./host.ts";
import { resolveRealPath } from "./real-path.ts";
import { findSocketHolder } from "./socket-holder.ts";

/** @param proc where the kernel's process file system is mounted */
export function createLinuxHost(proc: string = "/proc"): Host {
  return new LinuxHost(proc);
}

class LinuxHost implements Host {
  readonly #proc: string;

  constructor(proc: string) {
    this.#proc = proc;
  }

  async listeningPorts(signal: AbortSignal): Promise<ListeningPort[]> {
    const tables = await Promise.all(["tcp", "tcp6"].map((table) => this.#readTable(table, signal)));
    return tables.flatMap(parseProcNetTcp);
  }

  async holderOf(port: number, signal: AbortSignal): Promise<HostProcess | undefined> {
    const sockets = (await this.listeningPorts(signal)).filter((socket) => socket.port === port);
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

  realPath(path: string): Promise<string> {
    return resolveRealPath(path);
  }

  async #readTable(table: string, signal: AbortSignal): Promise<string> {
    try {
      return await readFile(join(this.#proc, "net", table), { encoding: "utf8", signal });
    } catch (error) {
      signal.throwIfAborted();
      // A kernel without IPv6 has no table for it.
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
      throw error;
    }
  }
}
