import type { Socket } from "node:net";
import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import type { Clock } from "../../../lib/clock.ts";
import type { KeyedLock } from "../../../lib/keyed-lock.ts";
import type { ExecEnd, ExecRequest, RunningExec } from "../container-access.ts";
import { untilDrained } from "../../../lib/until-drained.ts";
import { call } from "./call.ts";
import { Demultiplexer } from "./demultiplexer.ts";
import { type CommandOrigin, type FoundProcesses, MARK, NONE, ofCommand, ticksNow } from "./exec-processes.ts";
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
  const created = await container.exec({
    Cmd: [...request.command],
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: request.tty,
    Env: [`${MARK}=${mark}`, ...(request.tty ? ["TERM=xterm-256color"] : [])],
    ...(user !== undefined && { User: user }),
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
  const running = new StartedExec({ exec, container, defaultUser: Config.User, socket, origin, request, clock });
  if (signal.aborted) {
    // The caller does not wait for it any more: the engine has taken too long to start it.
    const limit = AbortSignal.timeout(LATE_KILL_TIMEOUT_MS);
    // The command ends with its connection, or is left to the container.
    await running.kill(limit).catch(() => undefined);
    running.close();
  }
  // A command that is over already has no terminal.
  else if (request.tty && columns !== undefined && rows !== undefined)
    await running.resize(columns, rows, signal).catch(() => undefined);
  return running;
}

interface StartedExecParts {
  readonly exec: Docker.Exec;
  readonly container: Docker.Container;
  /** The user that the container's own command has. */
  readonly defaultUser: string;
  /** The command's input and output. */
  readonly socket: Socket;
  readonly origin: CommandOrigin;
  readonly request: ExecRequest;
  readonly clock: Clock;
}

/** A command that the engine has started. */
class StartedExec implements RunningExec {
  readonly output: RunningExec["output"];
  readonly #parts: StartedExecParts;

  constructor(parts: StartedExecParts) {
    this.#parts = parts;
    this.output = parts.request.tty ? plain(parts.socket) : demultiplexed(parts.socket);
  }

  async write(bytes: Uint8Array): Promise<void> {
    const { socket } = this.#parts;
    if (socket.destroyed || socket.writableEnded) return;
    if (!socket.write(bytes)) await untilDrained(socket);
  }

  end(): void {
    const { socket, request } = this.#parts;
    // A terminal has no end of input: it is a key.
    if (request.tty) socket.write(Uint8Array.of(CTRL_D));
    else socket.end();
  }

  resize(columns: number, rows: number, signal: AbortSignal): Promise<void> {
    const { exec, clock } = this.#parts;
    return call(clock, CALL_TIMEOUT_MS, signal, async (abortSignal) => {
      // Podman answers with 201, which the library takes for an error.
      await unlessStatus(201, exec.resize({ w: columns, h: rows, abortSignal }));
    });
  }

  async exitCode(signal: AbortSignal): Promise<number | undefined> {
    const { exec, clock } = this.#parts;
    const { Running, ExitCode } = await call(clock, CALL_TIMEOUT_MS, signal, (abortSignal) =>
      exec.inspect({ abortSignal }),
    );
    return Running ? undefined : (ExitCode ?? 0);
  }

  async kill(signal: AbortSignal): Promise<ExecEnd> {
    const { container, defaultUser, socket, origin, request } = this.#parts;
    const { user, tty } = request;
    const ask = async (what: "list" | "kill", known: FoundProcesses, as: string | undefined) =>
      ofCommand(what, origin, known, { container, user: as, signal }).catch((error: unknown) =>
        hasContainerEnded(error) ? NONE : undefined,
      );
    const isOver = await this.exitCode(signal).then(
      (code) => code !== undefined,
      (error: unknown) => hasContainerEnded(error) || Promise.reject(error),
    );
    // Before it ends: its children have another parent afterwards.
    const before = isOver ? undefined : await ask("list", NONE, user);
    // Unread output would block the command.
    socket.resume();
    if (tty && socket.writable) socket.write(Uint8Array.of(CTRL_C, CTRL_D));
    socket.end();
    const hasEnded = isOver || (await this.#isGoneWithin(END_PATIENCE_MS, signal));
    socket.destroy();
    const killed = await ask("kill", before ?? NONE, user);
    // If the command has changed its user, only root can kill it. And root may not read its environment.
    const isOfRoot = isRoot(user ?? defaultUser);
    const last = isOfRoot ? killed : ((await ask("kill", killed ?? before ?? NONE, "0")) ?? killed);
    const isGone = hasEnded || (await this.#isGoneWithin(KILL_PATIENCE_MS, signal));
    return { isGone, left: last?.left };
  }

  close(): void {
    this.#parts.socket.destroy();
  }

  async #isGoneWithin(ms: number, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#parts;
    for (const end = clock.monotonic() + ms; ; await clock.sleep(POLL_MS, signal)) {
      if ((await this.exitCode(signal)) !== undefined) return true;
      if (clock.monotonic() >= end) return false;
    }
  }
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
