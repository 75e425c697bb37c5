import type Docker from "dockerode";
import type { LogLine, LogRequest } from "../log.ts";
import { requireContainer } from "./find-container.ts";
import { getStream } from "./get.ts";
import { Demultiplexer } from "./demultiplexer.ts";
import { OutputLineSplitter } from "./line-splitter.ts";

const SECOND = 1_000_000_000n;
/** Podman reads the time as a floating-point number, with a precision of about a quarter of a microsecond. */
const MARGIN = 1_000_000n;

interface LogStream {
  readonly stream: AsyncIterable<Uint8Array>;
  /** Whether the container has a terminal. */
  readonly raw: boolean;
}

/**
 * Opens a container's output, with a timestamp before each line. May begin with lines slightly older than `since`, and end
 * with lines slightly newer than `until`.
 */
export async function openLog(
  docker: Docker,
  id: string,
  { tail, since, until, follow }: LogRequest,
  signal: AbortSignal,
): Promise<LogStream> {
  const { Id, Config } = await requireContainer(docker, id, signal);
  const query = {
    stdout: true,
    stderr: true,
    timestamps: true,
    follow,
    tail: Number.isFinite(tail) ? tail : "all",
    ...(since && { since: timeText(since > MARGIN ? since - MARGIN : 0n) }),
    ...(until && { until: timeText(until + MARGIN) }),
  };
  return { stream: await getStream(docker, `/containers/${Id}/logs`, query, signal), raw: Config.Tty };
}

/** Formats seconds with nine decimals. */
function timeText(nanoseconds: bigint): string {
  return `${nanoseconds / SECOND}.${String(nanoseconds % SECOND).padStart(9, "0")}`;
}

const STDERR = 2;

/**
 * Reads container output with a timestamp before each line, and yields the lines that each chunk completes, in order.
 * Long lines are cut, and bytes that are not UTF-8 become replacement characters.
 *
 * @param raw whether the container has a terminal: then the output has no frames. Otherwise each frame names its output
 *   stream, and contains one line, or a part of a long one, with its own timestamp.
 */
export async function* logLines(stream: AsyncIterable<Uint8Array>, raw: boolean): AsyncGenerator<LogLine[]> {
  let lines: LogLine[] = [];
  const emit = (line: LogLine): void => void lines.push(line);
  const splitters = { stdout: new OutputLineSplitter("stdout", emit), stderr: new OutputLineSplitter("stderr", emit) };
  const demultiplexer = new Demultiplexer((source, bytes, isStart) => {
    const splitter = source === STDERR ? splitters.stderr : splitters.stdout;
    if (isStart) splitter.expectTime();
    splitter.write(bytes, false);
  });
  for await (const chunk of stream) {
    if (raw) splitters.stdout.write(chunk, true);
    else demultiplexer.write(chunk);
    if (lines.length > 0) yield lines;
    lines = [];
  }
  for (const splitter of Object.values(splitters)) splitter.end();
  if (lines.length > 0) yield lines;
}
