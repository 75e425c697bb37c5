import { uptime } from "node:os";
import type { Socket } from "node:net";
import type Docker from "dockerode";
import { printable } from "../../core/text.ts";
import { Demultiplexer } from "./demultiplexer.ts";

/*
 * Finds the processes of a command in a container, from the inside and with nothing but a shell, since images have little
 * else. Engines do not tell which processes a command has started, and the agent's own user does not see them.
 *
 * The command itself is the process without a parent in the container that began while the engine was starting it. Of several,
 * it is the one with the command's mark: another one is a health check. If none has the mark any more, all are. To it belong,
 * of the processes that have begun since, its descendants, everything in a session of theirs, and what has the command's mark
 * in its environment. So a process is found that has left two of these three. One that has left all of them looks like a
 * process of the app, and is only named.
 */

/** Marks the processes of a command. */
export const MARK = "EDGE_AGENT_EXEC";

/** Ticks of the clock in which the kernel notes when a process has begun, on all architectures of ours. */
const TICKS_PER_S = 100;

const MAX_NAMED = 20;
/** The shell that writes is the app's own, and may be anything. Thousands of processes are far below this. */
const MAX_OUTPUT_BYTES = 256 * 1024;

/** What is known of a command from its start. */
export interface CommandOrigin {
  readonly mark: string;
  /** When the engine was asked to start it, and when it had, in ticks since the start of the machine. */
  readonly from: number;
  readonly to: number;
}

/** Processes of a command, for a later call: those that have begun with it may have lost their parents by then. */
export interface FoundProcesses {
  /** As `PID:START`. */
  readonly processes: readonly string[];
  readonly sessions: readonly string[];
  /** After a kill: those that go on, since they cannot be killed or may be the app's, as `NAME (PID)`. */
  readonly left: readonly string[];
}

export const NONE: FoundProcesses = { processes: [], sessions: [], left: [] };

export function ticksNow(): number {
  return Math.round(uptime() * TICKS_PER_S);
}

/**
 * Arguments: `list` or `kill`, the mark, `from`, `to`, processes and sessions that are known. Nothing is left of a command if
 * the container was started again since. Stops what it finds before it looks again, so that nothing is started behind its
 * back. Every shell's `read` drops the NUL characters between variables. The name of a process may hold anything, also
 * parentheses and line ends.
 */
const SCRIPT = `
what=$1 mark=$2 from=$3 to=$4 found=" $5 " sessions=" $6 " pids=" " rooted=
stat() {
  s=
  while IFS= read -r x || [ -n "$x" ]; do s="$s $x"; done < "/proc/$1/stat"
  name=\${s#*(}; name=\${name%) *}
  set -- \${s##*) }
  [ $# -ge 20 ] || return 1
  state=$1 parent=$2 session=$4 start=\${20}
}
marked() {
  while IFS= read -r v || [ -n "$v" ]; do case $v in *${MARK}=$mark*) return 0;; esac; done < "/proc/$1/environ"
  return 1
}
root() {
  [ "$parent" = 0 ] && [ "$start" -le "$to" ] && marked "$1" && rooted=yes
}
its() {
  case $found in *" $1:$start "*) return 0;; esac
  case $pids in *" $parent "*) return 0;; esac
  case $sessions in *" $session "*) return 0;; esac
  [ -z "$rooted" ] && [ "$parent" = 0 ] && [ "$start" -le "$to" ] && return 0
  marked "$1"
}
next() {
  for p in /proc/[0-9]*; do
    p=\${p#/proc/}
    [ "$p" != "$$" ] && stat "$p" && [ "$state" != Z ] && [ "$state" != X ] && [ "$start" -ge "$from" ] && "$1" "$p"
  done
}
add() {
  case $pids in *" $1 "*) return;; esac
  its "$1" || return
  pids="$pids$1 " more=yes
  case $found in *" $1:$start "*) ;; *) found="$found$1:$start ";; esac
  [ "$session" = 0 ] || [ "$session" = "$own" ] || case $sessions in *" $session "*) ;; *) sessions="$sessions$session ";; esac
  [ "$what" = list ] || kill -STOP "$1"
}
unclear() {
  case $pids in *" $1 "*) return;; esac
  [ "$parent" = 1 ] && [ "$session" != "$own" ] && echo "left $1 $name"
}
{
  stat 1 || exit
  own=$session
  [ "$start" -lt "$from" ] || { echo end; exit; }
  case $found in *:*) rooted=yes;; *) next root;; esac
  more=yes
  while [ -n "$more" ]; do more=; next add; done
  echo "found $found"; echo "sessions $sessions"
  [ "$what" = list ] || {
    for p in $pids; do kill -KILL "$p" || { stat "$p" && [ "$state" != Z ] && echo "left $p $name"; }; done
    next unclear
  }
  echo end
} 2>/dev/null
`;

/**
 * Lists the processes of a command, or kills them. `undefined`: it cannot be said, as the image has no usable shell.
 *
 * @param user what the container's user is called to the engine: one reads only environments of its own processes
 */
export async function ofCommand(
  what: "list" | "kill",
  { mark, from, to }: CommandOrigin,
  known: FoundProcesses,
  at: { readonly container: Docker.Container; readonly user: string | undefined; readonly signal: AbortSignal },
): Promise<FoundProcesses | undefined> {
  const args = [what, mark, String(from), String(to), known.processes.join(" "), known.sessions.join(" ")];
  const output = await runScript(args, at);
  const lines = output?.split("\n");
  if (!lines?.includes("end")) return undefined;
  const words = (name: string): string[] => {
    const line = lines.find((each) => each.startsWith(`${name} `)) ?? "";
    return line
      .split(/\s+/)
      .slice(1)
      .filter((word) => /^\d+(?::\d+)?$/.test(word));
  };
  const left = lines.flatMap((line) => {
    const [, pid, name = ""] = /^left (\d+) (.*)$/.exec(line) ?? [];
    return pid === undefined ? [] : [`${printable(name)} (${pid})`];
  });
  return { processes: words("found"), sessions: words("sessions"), left: left.slice(0, MAX_NAMED) };
}

/** Runs the script in the container, and returns what it writes: nothing without a shell. `undefined`: too much. */
async function runScript(
  args: readonly string[],
  { container, user, signal }: Parameters<typeof ofCommand>[3],
): Promise<string | undefined> {
  const exec = await container.exec({
    Cmd: ["/bin/sh", "-c", SCRIPT, "sh", ...args],
    AttachStdout: true,
    ...(user !== undefined && { User: user }),
    abortSignal: signal,
  });
  const socket = (await exec.start({ hijack: true, stdin: false })) as unknown as Socket;
  using _abort = destroyOn(signal, socket);
  const parts: Uint8Array[] = [];
  const demultiplexer = new Demultiplexer((_source, bytes) => void parts.push(bytes));
  let received = 0;
  for await (const chunk of socket as AsyncIterable<Uint8Array>) {
    received += chunk.length;
    // The end of the loop destroys the socket.
    if (received > MAX_OUTPUT_BYTES) return undefined;
    demultiplexer.write(chunk);
  }
  return Buffer.concat(parts).toString();
}

function destroyOn(signal: AbortSignal, socket: Socket): Disposable {
  const destroy = (): void => void socket.destroy();
  if (signal.aborted) destroy();
  signal.addEventListener("abort", destroy, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", destroy) };
}
