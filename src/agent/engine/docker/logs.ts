import type Docker from "dockerode";
import type { LogLine, LogRequest } from "../log.ts";
import { requireContainer } from "./find-container.ts";
import { getStream } from "./get.ts";
import { Demultiplexer } from "./demultiplexer.ts";
import { LineSplitter } from "./line-splitter.ts";

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

const STDERR = 2;

/**
 * Reads container output with a time before each line, as engines write it on request, and answers the lines a piece of
 * the stream completes, in that order. Lines are cut at a bound, and bytes that are not UTF-8 become replacement characters.
 *
 * @param raw whether the container has a terminal: then the output comes as it is, otherwise in frames that say which
 *   of the two output streams they belong to. A frame holds one line, or a part of a long one, each with a time of its own.
 */
export async function* logLines(stream: AsyncIterable<Uint8Array>, raw: boolean): AsyncGenerator<LogLine[]> {
  let lines: LogLine[] = [];
  const emit = (line: LogLine): void => void lines.push(line);
  const cutters = { stdout: new LineSplitter("stdout", emit), stderr: new LineSplitter("stderr", emit) };
  const demultiplexer = new Demultiplexer((source, bytes, isStart) => {
    const cutter = source === STDERR ? cutters.stderr : cutters.stdout;
    if (isStart) cutter.expectTime();
    cutter.write(bytes, false);
  });
  for await (const chunk of stream) {
    if (raw) cutters.stdout.write(chunk, true);
    else demultiplexer.write(chunk);
    if (lines.length > 0) yield lines;
    lines = [];
  }
  for (const cutter of Object.values(cutters)) cutter.end();
  if (lines.length > 0) yield lines;
}
