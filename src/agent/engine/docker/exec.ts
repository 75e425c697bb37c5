import type { Socket } from "node:net";
import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import type { Clock } from "../../../lib/clock.ts";
import type { KeyedLock } from "../../../lib/keyed-lock.ts";
import type { ExecRequest, RunningExec } from "../container-access.ts";
import { untilDrained } from "../../../lib/until-drained.ts";
import { call } from "./call.ts";
import { Demultiplexer } from "./demultiplexer.ts";
import { type FoundProcesses, MARK, NONE, ofCommand, ticksNow } from "./exec-processes.ts";
import { requireContainer } from "./find-container.ts";
import { requireFields } from "./shape.ts";
import { toEngineError } from "./to-engine-error.ts";
import { unlessStatus } from "./unless-status.ts";

/** How long a command may take to end by itself after its terminal is gone, in milliseconds. */
const END_PATIENCE_MS = 2_000;
/** How long a killed command may take to be gone. */
const KILL_PATIENCE_MS = 5_000;
const POLL_MS = 100;
const START_POLL_MS = 20;
const START_PATIENCE_MS = 2_000;
/** Commands are started so far apart that each has ticks of the kernel's clock of its own, in milliseconds. */
const START_GAP_MS = 20;
const CALL_TIMEOUT_MS = 10_000;
const LATE_KILL_TIMEOUT_MS = 20_000;

const CTRL_C = 3;
const CTRL_D = 4;

const STDERR = 2;

/** Starts a command in a container. */
export async function startExec(
  docker: Docker,
  containerId: string,
  request: ExecRequest,
  signal: AbortSignal,
  { clock, starts }: { readonly clock: Clock; readonly starts: KeyedLock },
): Promise<RunningExec> {
  const { Id, Config } = await requireContainer(docker, containerId, signal);
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
  // One at a time in a container: a command is recognized by when it began.
  const lease = await starts.acquire(Id, signal);
  const from = ticksNow();
  let socket: Socket;
  try {
    socket = (await exec.start({ hijack: true, stdin: true, Tty: request.tty })) as unknown as Socket;
    // The reader and the writer handle errors.
    socket.on("error", () => undefined);
    // An engine that does not say when it has started it: the command runs, only its processes may not be told apart.
    await untilStarted(exec, clock, signal).catch(() => undefined);
  } finally {
    void clock.sleep(START_GAP_MS).then(() => lease[Symbol.dispose]());
  }
  const origin = { mark, from, to: ticksNow() };
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
      const ask = async (what: "list" | "kill", known: FoundProcesses, as: string | undefined) =>
        ofCommand(what, origin, known, { container, user: as, signal: abortSignal }).catch((error: unknown) =>
          hasContainerEnded(error) ? NONE : undefined,
        );
      const own = user ?? Config.User;
      const isOver = await exitCode(abortSignal).then(
        (code) => code !== undefined,
        (error: unknown) => hasContainerEnded(error) || Promise.reject(error),
      );
      // Before it ends: its children have another parent afterwards.
      const before = isOver ? undefined : await ask("list", NONE, user);
      // Unread output would block the command.
      socket.resume();
      if (request.tty && socket.writable) socket.write(Uint8Array.of(CTRL_C, CTRL_D));
      socket.end();
      const hasEnded = isOver || (await isGoneWithin(END_PATIENCE_MS, abortSignal));
      socket.destroy();
      const killed = await ask("kill", before ?? NONE, user);
      // If the command has changed its user, only root can kill it. And root may not read its environment.
      const last = isRoot(own) ? killed : ((await ask("kill", killed ?? before ?? NONE, "0")) ?? killed);
      const isGone = hasEnded || (await isGoneWithin(KILL_PATIENCE_MS, abortSignal));
      return { isGone, left: last?.left };
    },
    close: () => void socket.destroy(),
  };
  if (signal.aborted) {
    // The caller does not wait for it any more: the engine has taken too long to start it.
    const limit = AbortSignal.timeout(LATE_KILL_TIMEOUT_MS);
    // The command ends with its connection, or is left to the container.
    await running.kill(limit).catch(() => undefined);
    running.close();
  }
  // A command that is over already has no terminal.
  else if (request.tty && columns !== undefined && rows !== undefined)
    await resize(columns, rows, signal).catch(() => undefined);
  return running;
}

/** Whether an error says that the container does not run, or is not there: then nothing in it does. */
function hasContainerEnded(error: unknown): boolean {
  const { kind } = toEngineError(error);
  return kind === "not_found" || kind === "conflict";
}

function isRoot(user: string): boolean {
  return ["", "0", "root"].includes(user.split(":")[0] ?? "");
}

/** Resolves when the engine has started the command, or it is over already. */
async function untilStarted(exec: Docker.Exec, clock: Clock, abortSignal: AbortSignal): Promise<void> {
  for (const end = clock.monotonic() + START_PATIENCE_MS; clock.monotonic() < end;) {
    const { Pid, Running, ExitCode, CanRemove } = await exec.inspect({ abortSignal });
    // Podman has the exit code 0 from the beginning.
    if (Pid > 0 || (!Running && ((ExitCode ?? 0) !== 0 || CanRemove))) return;
    await clock.sleep(START_POLL_MS, abortSignal);
  }
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
