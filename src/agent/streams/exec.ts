import { onAbort } from "../../lib/abort.ts";
import { STREAM_CHANNELS } from "../../protocol/link/stream-data.ts";
import type { ExecEnd, RunningExec } from "../engine/container-access.ts";
import { findRunningContainer } from "./find-container.ts";
import type { AppStream, StreamServices } from "./app-stream.ts";

/** How long killing a command may take, in milliseconds, with all that is tried. */
const KILL_TIMEOUT_MS = 20_000;
/** First and longest pause between questions for the exit code. */
const MIN_EXIT_POLL_MS = 50;
const MAX_EXIT_POLL_MS = 2_000;

/** The end of a command that could not be killed in time. */
const UNKNOWN_END: ExecEnd = { isGone: false, left: undefined };

/** Runs a command in the app's container. It is killed with all it has started when the stream ends. */
export async function serveExec(
  stream: AppStream<"exec">,
  services: StreamServices,
): Promise<{ readonly exit_code: number }> {
  const { signal, params } = stream;
  const { id } = await findRunningContainer(stream, services);
  const { working_dir: workingDir, ...request } = params;
  signal.throwIfAborted();
  // Without the signal: a command that the engine is starting would go on unnoticed.
  const starting = services.access.exec(id, { ...request, workingDir });
  try {
    const exec = await Promise.race([starting, rejectOnAbort(signal)]);
    if (params.tty) followSize(stream, exec);
    stream.opened();
    void sendInput(stream, exec);
    // A command may be silent for ever.
    await Promise.race([sendOutput(stream, exec), rejectOnAbort(signal)]);
    return { exit_code: await waitForExit(exec, services, signal) };
  } finally {
    // Not awaited: the client has gone, or is told at once. A command that is over may have left something, too.
    services.endings.add(
      starting.then(
        (exec) => killExec(stream, exec, services),
        () => undefined,
      ),
    );
  }
}

/** Passes the size of the client's terminal on: one at a time, and the last one in any case. */
function followSize(stream: AppStream, exec: RunningExec): void {
  let next: readonly [columns: number, rows: number] | undefined;
  let isBusy = false;
  const pass = async (): Promise<void> => {
    isBusy = true;
    for (let size = next; size; size = next) {
      next = undefined;
      // The command may just have ended.
      await exec.resize(...size, stream.signal).catch(() => undefined);
    }
    isBusy = false;
  };
  stream.onResize((columns, rows) => {
    next = [columns, rows];
    if (!isBusy) void pass();
  });
}

async function sendOutput(stream: AppStream, exec: RunningExec): Promise<void> {
  for await (const { source, bytes } of exec.output) await stream.write(STREAM_CHANNELS[source], bytes);
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => onAbort(signal, () => reject(signal.reason as Error)));
}

/** Passes the client's input on. Its end may come at any time, also after the command's. */
async function sendInput(stream: AppStream, exec: RunningExec): Promise<void> {
  try {
    for await (const bytes of stream.input()) await exec.write(bytes);
    exec.end();
  } catch {
    // The stream was closed.
  }
}

/** The output ends a moment before the engine knows the exit code. */
async function waitForExit(exec: RunningExec, { clock }: StreamServices, signal: AbortSignal): Promise<number> {
  for (let pauseMs = MIN_EXIT_POLL_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_EXIT_POLL_MS)) {
    const code = await exec.exitCode(signal);
    if (code !== undefined) return code & 0xff;
    // Longer and longer: it may also have closed its output and go on.
    await clock.sleep(pauseMs, signal);
  }
}

async function killExec(
  { app, params, signal }: AppStream<"exec">,
  exec: RunningExec,
  { clock, logger }: StreamServices,
): Promise<void> {
  const limit = new AbortController();
  using _timeout = clock.timer(KILL_TIMEOUT_MS, () => limit.abort());
  // How the command ended is unknown then, which is logged.
  const { isGone, left } = await exec.kill(limit.signal).catch(() => UNKNOWN_END);
  exec.close();
  const facts = { app, command: params.command[0] };
  if (!isGone) {
    logger.warn(
      facts,
      "remote access: a command goes on in the app, because the engine cannot end it and the image has no usable shell; a restart of the app ends it",
    );
  } else if (left === undefined && signal.aborted) {
    logger.warn(
      facts,
      "remote access: what a command has started in the app may go on, because the image has no usable shell; a restart of the app ends it",
    );
  } else if (left !== undefined && left.length > 0) {
    logger.warn(
      { ...facts, processes: left },
      "remote access: processes that began while a command ran go on in the app: they cannot be killed, or not be told from the app's own; a restart of the app ends them",
    );
  }
}
