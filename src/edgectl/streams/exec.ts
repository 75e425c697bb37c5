import { untilDrained } from "../../lib/until-drained.ts";
import { STREAM_CHANNELS } from "../../protocol/link/stream-data.ts";
import type { StreamParams } from "../../protocol/link/streams.ts";
import { EXIT, Failure, SilentExit } from "../failure.ts";
import type { RawStreams } from "../io.ts";
import type { ClientStream } from "./client-stream.ts";
import type { StreamConnection } from "./connection.ts";

/**
 * Runs a command in the app, with these streams as its own. Throws `SilentExit` with its exit code unless that is 0, or
 * the failure.
 */
export async function runRemotely(
  connection: StreamConnection,
  params: StreamParams<"exec">,
  streams: RawStreams,
  interrupted: AbortSignal,
): Promise<void> {
  using stream = connection.open("exec", { ...params, ...(params.tty && sizeOf(streams.stdout)) });
  using _interrupt = closeOn(interrupted, stream);
  // An open input would keep the process alive, however the command ends.
  using _input = { [Symbol.dispose]: () => void streams.stdin.destroy() };
  await stream.opened.catch((error: unknown) => {
    interrupted.throwIfAborted();
    throw error;
  });
  using _terminal = params.tty ? rawTerminal(streams, stream) : undefined;
  // Not awaited: the terminal has no end, and the command may end before its input does.
  void sendInput(streams, stream);
  for await (const { channel, bytes } of stream.read()) {
    const output = channel === STREAM_CHANNELS.stderr ? streams.stderr : streams.stdout;
    if (!output.write(bytes)) await untilDrained(output);
  }
  interrupted.throwIfAborted();
  const end = await stream.ended;
  const failure = connection.failureOf(end);
  if (failure) throw failure;
  if (end.exit_code === undefined) {
    throw new Failure("The command's exit code is not known.", { exitCode: EXIT.failed });
  }
  if (end.exit_code !== 0) throw new SilentExit(end.exit_code);
}

async function sendInput({ stdin }: RawStreams, stream: ClientStream): Promise<void> {
  try {
    for await (const bytes of stdin as AsyncIterable<Uint8Array>) await stream.write(bytes);
  } catch {
    // It was closed above, or cannot be read: for the command, its input ends.
  }
  await stream.end();
}

/** Passes keys on one by one, Ctrl-C included, until disposed. */
function rawTerminal({ stdin, stdout }: RawStreams, stream: ClientStream): Disposable {
  const resize = (): void => {
    const { columns, rows } = sizeOf(stdout);
    if (columns !== undefined && rows !== undefined) stream.resize(columns, rows);
  };
  const restore = (): void => void stdin.setRawMode?.(false);
  stdin.setRawMode?.(true);
  stdout.on("resize", resize);
  // On every way out, also an uncaught error.
  process.once("exit", restore);
  return {
    [Symbol.dispose]() {
      stdout.off("resize", resize);
      process.off("exit", restore);
      restore();
    },
  };
}

function sizeOf({ columns, rows }: RawStreams["stdout"]): { readonly columns?: number; readonly rows?: number } {
  return columns !== undefined && rows !== undefined && columns > 0 && rows > 0 ? { columns, rows } : {};
}

function closeOn(signal: AbortSignal, stream: ClientStream): Disposable {
  const close = (): void => stream[Symbol.dispose]();
  if (signal.aborted) close();
  signal.addEventListener("abort", close, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", close) };
}
