import type { Readable } from "node:stream";
import type Docker from "dockerode";
import type { Clock } from "../../../lib/clock.ts";
import { KeyedLock } from "../../../lib/keyed-lock.ts";
import { memoize } from "../../../lib/memoize.ts";
import type { ContainerAccess, ExecRequest, RunningExec } from "../container-access.ts";
import { call } from "./call.ts";
import { type ConnectEngine, createConnector } from "./connection.ts";
import { containerAddresses } from "./container-addresses.ts";
import { startExec } from "./exec.ts";
import { requireContainer } from "./find-container.ts";
import { readInfo } from "./read-info.ts";
import { unlessStatus } from "./unless-status.ts";
import { parseBoundedJson } from "../../../protocol/values/bounded-json.ts";

const TIMEOUT_MS = 10_000;
/** The engine runs programs to answer. Another engine at its socket has other containers. */
const ROOTLESS_TTL_MS = 60_000;
/** An archive is unpacked while it arrives over the link. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

/** Creates the access to the inside of containers for Docker and Podman. */
export function createContainerAccess(options: {
  readonly socketPath: () => string;
  readonly clock: Clock;
}): ContainerAccess {
  const connect: ConnectEngine = createConnector(options.socketPath);
  const run = <T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>, ms = TIMEOUT_MS): Promise<T> =>
    call(options.clock, ms, signal, work);
  const { signal: never } = new AbortController();
  const starts = new KeyedLock();
  const isRootless = memoize(
    options.clock,
    ROOTLESS_TTL_MS,
    async (signal) => (await readInfo(connect(), signal)).isRootless,
  );
  return {
    addressesOf: (id, port, signal) =>
      run(signal, async (limit) => {
        const own = await requireContainer(connect(), id, limit);
        const [, owner] = /^container:(.+)/.exec(own.HostConfig.NetworkMode ?? "") ?? [];
        const info = owner === undefined || !own.State.Running ? own : await requireContainer(connect(), owner, limit);
        return await containerAddresses(info, port, await isRootless(limit));
      }),
    exec: (id: string, request: ExecRequest): Promise<RunningExec> =>
      run(never, (limit) => startExec(connect(), id, request, limit, { clock: options.clock, starts })),
    statPath: (id, path, signal) => run(signal, (limit) => statPath(connect(), id, path, limit)),
    readArchive: (id, path, signal) =>
      run(
        signal,
        async () => (await connect().getContainer(id).getArchive({ path, abortSignal: signal })) as unknown as Readable,
      ),
    writeArchive: (id, path, archive, signal) =>
      run(
        signal,
        async (abortSignal) => {
          const options = { path, noOverwriteDirNonDir: "true", abortSignal };
          await connect().getContainer(id).putArchive(archive, options);
        },
        NO_TIMEOUT_MS,
      ),
  };
}

/** Bit of a directory in a mode as Go writes it. */
const GO_MODE_DIRECTORY = 0x8000_0000;
/** Bit of a symbolic link. */
const GO_MODE_SYMLINK = 0x0800_0000;
/** Links to links that are followed. */
const MAX_LINKS = 8;

async function statPath(
  docker: Docker,
  id: string,
  path: string,
  abortSignal: AbortSignal,
  links = MAX_LINKS,
): Promise<{ readonly isDirectory: boolean } | undefined> {
  const container = docker.getContainer(id);
  const response = await unlessStatus(404, container.infoArchive({ path, abortSignal }));
  if (!response) return undefined;
  const { headers } = response as unknown as { readonly headers: Readonly<Record<string, string | undefined>> };
  // Otherwise its connection would stay open.
  (response as unknown as Readable).resume();
  const text = Buffer.from(headers["x-docker-container-path-stat"] ?? "", "base64").toString();
  const { mode = 0, linkTarget = "" } = parseBoundedJson(text || "{}", "short") as {
    mode?: number;
    linkTarget?: string;
  };
  // `&` on a number with the highest bit set would be negative.
  const has = (bit: number): boolean => Math.floor(mode / bit) % 2 === 1;
  if (has(GO_MODE_SYMLINK) && linkTarget !== "" && linkTarget !== path && links > 0)
    return statPath(docker, id, linkTarget, abortSignal, links - 1);
  return { isDirectory: has(GO_MODE_DIRECTORY) };
}
