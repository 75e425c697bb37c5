import type { Readable } from "node:stream";

/** Access to the inside of containers. Methods throw `EngineError`, `not_found` if there is no such container. */
export interface ContainerAccess {
  /**
   * Returns where a TCP port of a container may be reached from this machine, best first; nothing if it does not run. As
   * long as it runs and these are its addresses, nothing else answers there.
   */
  addressesOf(id: string, port: number, signal: AbortSignal): Promise<readonly ContainerAddress[]>;
  /** Starts a command in a running container. The caller has to close or kill it. Rejects if it does not start in time. */
  exec(id: string, request: ExecRequest): Promise<RunningExec>;
  /** Returns `undefined` if there is nothing at the path. */
  statPath(id: string, path: string, signal: AbortSignal): Promise<{ readonly isDirectory: boolean } | undefined>;
  /** Opens a file or directory as a tar archive. Also of a stopped container. */
  readArchive(id: string, path: string, signal: AbortSignal): Promise<Readable>;
  /** Unpacks a tar archive in a directory of the container. */
  writeArchive(id: string, directory: string, archive: Readable, signal: AbortSignal): Promise<void>;
}

export interface ContainerAddress {
  readonly host: string;
  readonly port: number;
  /** Whether the host is an address of the container itself. Otherwise the port is published there. */
  readonly isOwn: boolean;
}

export interface ExecRequest {
  readonly command: readonly string[];
  readonly tty: boolean;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  readonly user?: string | undefined;
  readonly workingDir?: string | undefined;
}

/** A command in a container. */
export interface RunningExec {
  /** Its output, read no faster than it is taken. With a terminal all of it is `stdout`. Ends with the command. */
  readonly output: AsyncIterable<{ readonly source: "stdout" | "stderr"; readonly bytes: Uint8Array }>;
  /** Resolves when the command may be given more. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends its input. */
  end(): void;
  resize(columns: number, rows: number, signal: AbortSignal): Promise<void>;
  /** Returns the exit code; `undefined` while it runs. */
  exitCode(signal: AbortSignal): Promise<number | undefined>;
  /** Closes its input and output, and kills the command, unless it is over, with everything it started. */
  kill(signal: AbortSignal): Promise<ExecEnd>;
  /** Closes its input and output. The command goes on. */
  close(): void;
}

/** What has become of a command that was killed. */
export interface ExecEnd {
  readonly isGone: boolean;
  /**
   * Processes that began while it ran and go on, as `NAME (PID)`: they may be its, or the app's. `undefined`: it cannot be
   * said whether it has left any, as the image has no usable shell.
   */
  readonly left: readonly string[] | undefined;
}
