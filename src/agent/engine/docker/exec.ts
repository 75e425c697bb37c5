import { once } from "node:events";
import type { Socket } from "node:net";
import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import type { Clock } from "../../../lib/clock.ts";
import type { ExecRequest, RunningExec } from "../container-access.ts";
import { untilDrained } from "../../../lib/until-drained.ts";
import { call } from "./call.ts";
import { Demultiplexer } from "./demultiplexer.ts";
import { requireContainer } from "./find-container.ts";
import { requireFields } from "./shape.ts";
import { toEngineError } from "./to-engine-error.ts";
import { unlessStatus } from "./unless-status.ts";

/** Marks the processes of a command, so that they can be found. */
const MARK = "EDGE_AGENT_EXEC";

/** How long a command may take to end by itself after its terminal is gone, in milliseconds. */
const END_PATIENCE_MS = 2_000;
/** How long a killed command may take to be gone. */
const KILL_PATIENCE_MS = 5_000;
const POLL_MS = 100;
const CALL_TIMEOUT_MS = 10_000;
const LATE_KILL_TIMEOUT_MS = 20_000;

const CTRL_C = 3;
const CTRL_D = 4;

const STDERR = 2;

/**
 * Kills all processes with the mark. Uses nothing but a shell, since images have little else; every shell's `read` drops
 * the NUL characters between variables.
 */
function killScript(mark: string): string {
  return [
    "for e in /proc/[0-9]*/environ; do",
    "p=${e%/environ}; p=${p#/proc/};",
    '[ "$p" = "$$" ] && continue;',
    `while IFS= read -r v || [ -n "$v" ]; do case "$v" in *${MARK}=${mark}*) kill -9 "$p"; break;; esac; done < "$e";`,
    "done 2>/dev/null; true",
  ].join(" ");
}

/** Starts a command in a container. */
export async function startExec(
  docker: Docker,
  containerId: string,
  request: ExecRequest,
  signal: AbortSignal,
  { clock }: { readonly clock: Clock },
): Promise<RunningExec> {
  const { Id } = await requireContainer(docker, containerId, signal);
  const container = docker.getContainer(Id);
  const mark = randomUUID();
  const { user, workingDir, columns, rows } = request;
  const who = { ...(user !== undefined && { User: user }) };
  const created = await container.exec({
    Cmd: [...request.command],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: request.tty,
    Env: [`${MARK}=${mark}`, ...(request.tty ? ["TERM=xterm-256color"] : [])],
    ...who,
    ...(workingDir !== undefined && { WorkingDir: workingDir }),
    abortSignal: signal,
  });
  const exec = docker.getExec(requireFields(created, { id: "" }).id);
  const socket = (await exec.start({ hijack: true, stdin: true, Tty: request.tty })) as unknown as Socket;
  // Errors are seen by whoever reads or writes.
  socket.on("error", () => undefined);
  const resize = (width: number, height: number, limit: AbortSignal): Promise<void> =>
    call(clock, CALL_TIMEOUT_MS, limit, async (abortSignal) => {
      // Podman answers with 201, which the library takes for an error.
      await unlessStatus(201, exec.resize({ w: width, h: height, abortSignal }));
    });
  const exitCode = async (limit: AbortSignal): Promise<number | undefined> => {
    const { Running, ExitCode } = await call(clock, CALL_TIMEOUT_MS, limit, (abortSignal) =>
      exec.inspect({ abortSignal }),
    );
    return Running ? undefined : (ExitCode ?? 0);
  };
  const isGoneWithin = async (ms: number, abortSignal: AbortSignal): Promise<boolean> => {
    for (const end = clock.monotonic() + ms; ; await clock.sleep(POLL_MS, abortSignal)) {
      if ((await exitCode(abortSignal)) !== undefined) return true;
      if (clock.monotonic() >= end) return false;
    }
  };
  const running: RunningExec = {
    output: request.tty ? plain(socket) : demultiplexed(socket),
    async write(bytes) {
      if (socket.destroyed || socket.writableEnded) return;
      if (!socket.write(bytes)) await untilDrained(socket);
    },
    end() {
      // A terminal has no end of input: it is a key.
      if (request.tty) socket.write(Uint8Array.of(CTRL_D));
      else socket.end();
    },
    resize,
    exitCode,
    async kill(abortSignal) {
      // Unread output would block the command.
      socket.resume();
      if (request.tty && socket.writable) socket.write(Uint8Array.of(CTRL_C, CTRL_D));
      socket.end();
      const isGone = await isGoneWithin(END_PATIENCE_MS, abortSignal);
      socket.destroy();
      // Also after the command itself has ended: what it started may go on.
      await runScript(docker, Id, killScript(mark), who, abortSignal).catch(() => undefined);
      return isGone || isGoneWithin(KILL_PATIENCE_MS, abortSignal);
    },
    close: () => void socket.destroy(),
  };
  if (signal.aborted) {
    // Nobody waits for it any more: the engine has taken too long to start it.
    const limit = AbortSignal.timeout(LATE_KILL_TIMEOUT_MS);
    await running.kill(limit).catch(() => undefined);
    running.close();
  }
  // A command that is over already has no terminal.
  else if (request.tty && columns !== undefined && rows !== undefined)
    await resize(columns, rows, signal).catch(() => undefined);
  return running;
}

/** Runs a script in the container and waits for its end. Fails if the image has no shell. */
async function runScript(
  docker: Docker,
  id: string,
  script: string,
  who: { readonly User?: string },
  abortSignal: AbortSignal,
): Promise<void> {
  const container = docker.getContainer(id);
  const exec = await container.exec({ Cmd: ["/bin/sh", "-c", script], AttachStdout: true, ...who, abortSignal });
  const socket = (await exec.start({ hijack: true, stdin: false })) as unknown as Socket;
  socket.on("error", () => undefined);
  socket.resume();
  const closed = once(socket, "close");
  using _abort = destroyOn(abortSignal, socket);
  await closed;
}

function destroyOn(signal: AbortSignal, socket: Socket): Disposable {
  const destroy = (): void => void socket.destroy();
  if (signal.aborted) destroy();
  signal.addEventListener("abort", destroy, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", destroy) };
}

type Output = { readonly source: "stdout" | "stderr"; readonly bytes: Uint8Array };

async function* plain(socket: Socket): AsyncGenerator<Output> {
  for await (const bytes of chunksOf(socket)) yield { source: "stdout", bytes };
}

async function* chunksOf(socket: Socket): AsyncGenerator<Uint8Array> {
  try {
    yield* socket as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw toEngineError(error);
  }
}

async function* demultiplexed(socket: Socket): AsyncGenerator<Output> {
  let parts: Output[] = [];
  const demultiplexer = new Demultiplexer((source, bytes) => {
    if (bytes.length > 0) parts.push({ source: source === STDERR ? "stderr" : "stdout", bytes });
  });
  for await (const chunk of chunksOf(socket)) {
    demultiplexer.write(chunk);
    yield* parts;
    parts = [];
  }
}
