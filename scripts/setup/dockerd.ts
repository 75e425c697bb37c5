import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, rmSync } from "node:fs";
import { SetupError, logSetup } from "./errors.ts";
import { findProgram } from "./programs.ts";

const LOG = "/var/log/dockerd.log";
const PID_FILE = "/var/run/docker.pid";
const CONTAINERD_PID_FILE = "/var/run/docker/containerd/containerd.pid";

/** An engine that is starting. Disposing of it detaches from it: the engine keeps running. */
interface StartingEngine extends Disposable {
  /** Where to read its log. */
  readonly log: string;
  /** Whether it has failed to start. */
  hasFailed(): boolean;
}

/** Starts Docker: as a systemd service if systemd runs, otherwise as a background process. */
export function startEngine(): StartingEngine {
  if (process.getuid?.() !== 0) {
    throw new SetupError("no container engine answers; as root: start it, for example with systemctl start docker");
  }
  return existsSync("/run/systemd/system") ? startService() : startDaemon();
}

function startService(): StartingEngine {
  logSetup("no container engine answers: starting docker.service");
  const result = spawnSync("systemctl", ["enable", "--now", "docker.service"], { encoding: "utf8" });
  if (result.status !== 0) throw new SetupError(`docker.service does not start: ${result.stderr.trim()}`);
  return { log: "journalctl -u docker", hasFailed: () => false, [Symbol.dispose]: () => {} };
}

function startDaemon(): StartingEngine {
  const program = findProgram("dockerd");
  if (program === undefined) throw new SetupError("no container engine answers, and there is no dockerd to start");
  removeStalePidFile(PID_FILE, "dockerd");
  removeStalePidFile(CONTAINERD_PID_FILE, "containerd");
  logSetup(`no container engine answers and there is no systemd: starting ${program} in the background`);
  const log = openSync(LOG, "a");
  // Debian's dockerd needs runc and containerd from folders that a user's PATH may lack.
  const PATH = `${process.env["PATH"] ?? ""}:/usr/local/sbin:/usr/sbin:/sbin`;
  const daemon = spawn(program, [], { detached: true, stdio: ["ignore", log, log], env: { ...process.env, PATH } });
  closeSync(log);
  let failed = false;
  daemon.on("error", () => (failed = true));
  // It also exits when another dockerd was faster; that one counts instead.
  daemon.on("exit", () => (failed = !isRunning(PID_FILE, "dockerd")));
  return { log: LOG, hasFailed: () => failed, [Symbol.dispose]: () => daemon.unref() };
}

// After a hard stop the file remains. If another process has that pid, the daemon assumes it is already running.
function removeStalePidFile(path: string, program: string): void {
  if (!existsSync(path) || isRunning(path, program)) return;
  logSetup(`removing ${path}: no ${program} runs under that pid`);
  rmSync(path, { force: true });
}

function isRunning(pidFile: string, program: string): boolean {
  try {
    const pid = readFileSync(pidFile, "utf8").trim();
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim() === program;
  } catch {
    return false;
  }
}
