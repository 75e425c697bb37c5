import type Docker from "dockerode";
import type { LogRequest } from "../log.ts";
import { requireContainer } from "./find-container.ts";
import { getStream } from "./get.ts";

const SECOND = 1_000_000_000n;
/** Podman takes the time as a floating-point number, which is good to about a quarter of a microsecond. */
const MARGIN = 1_000_000n;

interface LogStream {
  readonly stream: AsyncIterable<Uint8Array>;
  /** Whether the container has a terminal. */
  readonly raw: boolean;
}

/** Opens a container's output, with a time before each line. It may begin with lines a little older than asked for. */
export async function openLog(
  docker: Docker,
  id: string,
  { tail, since, follow }: LogRequest,
  signal: AbortSignal,
): Promise<LogStream> {
  const { Id, Config } = await requireContainer(docker, id, signal);
  const query = {
    stdout: true,
    stderr: true,
    timestamps: true,
    follow,
    tail,
    ...(since && { since: sinceText(since) }),
  };
  return { stream: await getStream(docker, `/containers/${Id}/logs`, query, signal), raw: Config.Tty };
}

/** Seconds with nine digits behind the point. */
function sinceText(nanoseconds: bigint): string {
  const from = nanoseconds > MARGIN ? nanoseconds - MARGIN : 0n;
  return `${from / SECOND}.${String(from % SECOND).padStart(9, "0")}`;
}
