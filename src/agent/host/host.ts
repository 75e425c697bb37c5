import type { HostPort } from "../core/host/host-port.ts";
import type { HostCapacity } from "../core/deployment/check.ts";
import type { MountEntry } from "../core/host/mountinfo.ts";
import type { ResolvedPath } from "../core/policy/resolved-path.ts";
import type { ListeningPort } from "../core/host/proc-net.ts";

export type { ListeningPort } from "../core/host/proc-net.ts";

/** A process of the machine. */
export interface HostProcess {
  readonly pid: number;
  /** Name of the command, never its arguments: those may carry secrets. */
  readonly name: string;
}

/** The machine the agent runs on, apart from its container engine. */
export interface Host {
  /** TCP sockets that listen and UDP sockets that wait for datagrams, IPv4 and IPv6. */
  listeningPorts(signal: AbortSignal): Promise<ListeningPort[]>;
  /** The process that listens on a port; `undefined` where there is none or the agent may not see it. */
  holderOf(port: HostPort, signal: AbortSignal): Promise<HostProcess | undefined>;
  /** Bytes that an ordinary process may still write to the file system of a path; `undefined` where that cannot be seen. */
  freeBytes(path: string): Promise<number | undefined>;
  /** Share of the file system of a path that is free, from 0 to 1; `undefined` where that cannot be seen. */
  freeShare(path: string): Promise<number | undefined>;
  /** Where an absolute path leads, symbolic links followed. Never rejects. */
  resolvePath(path: string): Promise<ResolvedPath>;
  /** What is mounted where, as this process sees it. */
  readMounts(): Promise<readonly MountEntry[]>;
  /** Whether a device file is at the path, symbolic links followed; a directory of them counts too. */
  isDevice(path: string): Promise<boolean>;
  /** What the machine has in all. */
  capacity(): HostCapacity;
}
