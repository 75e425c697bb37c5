import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import type { HostPort } from "../core/host/host-port.ts";
import type { HostCapacity } from "../core/deployment/check.ts";
import type { MountEntry } from "../core/policy/mountinfo.ts";
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
  /** Listening TCP sockets and bound UDP sockets, IPv4 and IPv6. */
  listeningPorts(signal: AbortSignal): Promise<ListeningPort[]>;
  /** The process that listens on a port; `undefined` when there is none, or the agent may not see it. */
  findPortHolder(port: HostPort, signal: AbortSignal): Promise<HostProcess | undefined>;
  /** Bytes available to unprivileged processes on the file system of a path; `undefined` when unknown. */
  freeBytes(path: string): Promise<number | undefined>;
  /** Inodes available on the file system of a path; `undefined` when unknown, or where their number is not limited. */
  freeInodes(path: string): Promise<number | undefined>;
  /** Free share of the file system of a path, from 0 to 1; `undefined` when unknown. */
  freeShare(path: string): Promise<number | undefined>;
  /** Follows the symbolic links of an absolute path. Never rejects. */
  resolvePath(path: string): Promise<ResolvedPath>;
  /** The mount table of this process. */
  readMounts(): Promise<readonly MountEntry[]>;
  /** Whether the path, symbolic links followed, is a device file or a directory. */
  isDevice(path: string): Promise<boolean>;
  /** Whether nothing is at the path, symbolic links followed. `false` where that cannot be told. */
  isMissing(path: string): Promise<boolean>;
  /** Memory and processors of the machine. */
  capacity(): HostCapacity;
}

/** Returns the device files of an app that are not on the device. */
export async function findMissingDevices({ devices = [] }: AppSpec, host: Pick<Host, "isDevice">): Promise<string[]> {
  const found = await Promise.all(devices.map(({ local }) => host.isDevice(local)));
  return devices.flatMap(({ local }, index) => (found[index] ? [] : [local]));
}
