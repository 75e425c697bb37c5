import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { run, start, type RunningCommand } from "../support/command.ts";
import { freePort } from "../support/free-port.ts";
import { tempDir } from "../support/temp-dir.ts";

/*
 * Another user of the machine tries to read files of the agent and the control plane, such as an app's database
 * password or a device token, with any owner of the directories and any umask of the programs.
 */

const NOBODY = 65_534;
const TOKEN = "ed_planted-device-token-0123456789abcdefABCDEF";
const PART = `${"a".repeat(64)}.part`;

/** Starts a program with umask 0. */
function startWithoutUmask(program: string, ...args: readonly string[]): RunningCommand {
  return start("sh", ["-c", 'umask 0; exec "$0" "$@"', program, ...args]);
}

function runWithoutUmask(program: string, ...args: readonly string[]): ReturnType<typeof run> {
  return run("sh", ["-c", 'umask 0; exec "$0" "$@"', program, ...args]);
}

/** Every file below a directory, without sockets and links, with its mode. */
function filesBelow(directory: string): Map<string, number> {
  const found = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    found.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path, lstatSync(path).mode & 0o777];
    }),
  );
}

function openToOthers(directory: string): string[] {
  return [...filesBelow(directory)]
    .filter(([, mode]) => (mode & 0o077) !== 0)
    .map(([path, mode]) => `${basename(path)} ${mode.toString(8)}`);
}

/** Returns what an unprivileged user can read of a file. */
function readAsNobody(path: string): string {
  try {
    const text = execFileSync("cat", [path], { uid: NOBODY, gid: NOBODY, stdio: ["ignore", "pipe", "ignore"] });
    return text.toString("latin1");
  } catch {
    return "";
  }
}

async function stop(program: RunningCommand, signal: NodeJS.Signals): Promise<void> {
  program.kill(signal);
  await program.exited;
}

let directory: Awaited<ReturnType<typeof tempDir>>;
let programs: AsyncDisposableStack;
beforeEach(async () => {
  programs = new AsyncDisposableStack();
  directory = await tempDir();
  chmodSync(directory.path, 0o755);
});
afterEach(async () => {
  await programs.disposeAsync();
  await directory[Symbol.asyncDispose]();
});

describe("the files of edge-agent", () => {
  let stateDir: string;
  let config: string;

  beforeEach(() => {
    stateDir = join(directory.path, "state");
    config = join(directory.path, "config.json");
    mkdirSync(stateDir);
    chmodSync(stateDir, 0o755);
    const token = join(directory.path, "token");
    writeFileSync(token, TOKEN, { mode: 0o600 });
    const content = {
      control_plane_url: "ws://127.0.0.1:9/v1/agent",
      device_token_file: token,
      state_dir: stateDir,
      local: { socket: join(directory.path, "agent.sock") },
      engine: { socket: join(directory.path, "no-engine.sock") },
      log: { file: { write: "always", path: join(directory.path, "log", "agent.log") } },
    };
    mkdirSync(join(directory.path, "log"));
    writeFileSync(config, JSON.stringify(content), { mode: 0o600 });
  });

  async function startAgent(): Promise<RunningCommand> {
    const agent = programs.use(startWithoutUmask("dist/edge-agent", "run", "--config", config));
    await agent.waitForOutput("edge-agent starts");
    return agent;
  }

  async function diagnose(): Promise<{ readonly verdict: string; readonly text: string; readonly next?: string }> {
    const { stdout } = await runWithoutUmask("dist/edge-agent", "doctor", "--json", "--config", config);
    const { checks } = JSON.parse(stdout) as { checks: { id: string; verdict: string; text: string; next?: string }[] };
    const found = checks.find(({ id }) => id === "permissions");
    if (!found) throw new Error(stdout);
    return found;
  }

  it("are accessible to the agent alone, with any umask and in a directory that others may enter", async () => {
    const agent = await startAgent();
    expect(filesBelow(stateDir).size).toBeGreaterThan(2);
    expect(openToOthers(stateDir)).toEqual([]);
    expect(statSync(stateDir).mode & 0o077).toBe(0);
    expect(readAsNobody(join(stateDir, "agent.db"))).toBe("");
    expect(readAsNobody(join(stateDir, "agent.db-wal"))).toBe("");
    await stop(agent, "SIGTERM");
    expect(openToOthers(stateDir)).toEqual([]);
    expect(openToOthers(join(directory.path, "log"))).toEqual([]);
  });

  it("are restricted and logged at the start if they are open to other users", async () => {
    await stop(await startAgent(), "SIGKILL");
    const victim = join(directory.path, "victim");
    writeFileSync(victim, "precious", { mode: 0o644 });
    const downloads = join(stateDir, "downloads");
    mkdirSync(downloads, { recursive: true });
    for (const path of ["agent.db.damaged", "agent.db.damaged-wal", "reserve", "rebuild", `downloads/${PART}`]) {
      writeFileSync(join(stateDir, path), "");
    }
    for (const path of filesBelow(stateDir).keys()) chmodSync(path, 0o644);
    chmodSync(stateDir, 0o755);
    chmodSync(downloads, 0o755);
    symlinkSync(victim, join(stateDir, "agent.db.old"));
    symlinkSync(victim, join(downloads, `${"b".repeat(64)}.part`));
    expect(readAsNobody(join(stateDir, "agent.db"))).not.toBe("");

    const agent = await startAgent();
    expect(openToOthers(stateDir)).toEqual([]);
    expect([statSync(stateDir).mode & 0o077, statSync(downloads).mode & 0o077]).toEqual([0, 0]);
    expect(readAsNobody(join(stateDir, "agent.db"))).toBe("");
    expect(statSync(victim).mode & 0o777).toBe(0o644);
    const said = agent
      .stdout()
      .split("\n")
      .find((line) => line.includes("permissions were taken from other users"));
    expect(said).toContain("agent.db 0644 -> 0600");
    expect(said).toContain(`${PART} 0644 -> 0600`);
  });

  it("and every file with the agent's identity are checked by doctor", async () => {
    expect(await diagnose()).toMatchObject({ verdict: "warning", next: `chmod go-rwx ${stateDir}` });
    const agent = await startAgent();
    expect(await diagnose()).toMatchObject({ verdict: "good" });

    const expectCorrectable = async (path: string, mode: number, good: number, says: string): Promise<void> => {
      chmodSync(path, mode);
      const found = await diagnose();
      // File names alone are not secret.
      expect(found.verdict).toBe(path === stateDir ? "warning" : "bad");
      expect(found.text).toContain(path);
      expect(found.text).toContain(`0${mode.toString(8)}`);
      expect(found.next).toContain(says);
      // The suggested command corrects it.
      execFileSync("sh", ["-c", found.next ?? "false"]);
      expect(statSync(path).mode & 0o777).toBe(good);
      expect(await diagnose()).toMatchObject({ verdict: "good" });
    };
    for (const name of ["agent.db", "agent.db-wal", "agent.lock", "rebuild"]) {
      await expectCorrectable(join(stateDir, name), 0o644, 0o600, "chmod go-rwx");
    }
    await expectCorrectable(stateDir, 0o755, 0o700, "chmod go-rwx");
    await expectCorrectable(config, 0o666, 0o664, "chmod o-w");
    await expectCorrectable(join(directory.path, "token"), 0o604, 0o600, "chmod o-rwx");
    await expectCorrectable(directory.path, 0o777, 0o775, "chmod o-w");
    await stop(agent, "SIGTERM");
    await expectCorrectable(join(stateDir, "agent.db"), 0o640, 0o600, "chmod go-rwx");

    chownSync(join(directory.path, "token"), NOBODY, NOBODY);
    expect(await diagnose()).toMatchObject({ verdict: "bad", text: expect.stringContaining("belongs to user 65534") });
  });
});

describe("the files of edge-control", () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = join(directory.path, "data");
    mkdirSync(dataDir);
    chmodSync(dataDir, 0o755);
  });

  async function serve(): Promise<{ readonly server: RunningCommand; readonly port: number }> {
    const port = await freePort();
    const options = ["serve", "--data-dir", dataDir, "--listen", `127.0.0.1:${port}`];
    const server = programs.use(startWithoutUmask("dist/edge-control", ...options));
    await server.waitForOutput("listening");
    return { server, port };
  }

  const administer = async (...args: readonly string[]): Promise<Record<string, string>> => {
    const done = await runWithoutUmask("dist/edge-control", ...args, "--data-dir", dataDir, "--json");
    expect([done.code, args, done.stderr]).toEqual([0, args, expect.any(String)]);
    return JSON.parse(done.stdout) as Record<string, string>;
  };

  it("are accessible to its user alone: database, log, lock, backups, and the files a restore sets aside", async () => {
    const first = await serve();
    await administer("account", "create", "acme");
    expect(openToOthers(dataDir)).toEqual([]);
    expect(statSync(dataDir).mode & 0o077).toBe(0);
    expect(readAsNobody(join(dataDir, "edge-control.sqlite"))).toBe("");
    const backup = join(directory.path, "backup.db");
    writeFileSync(backup, "an older one that others may read", { mode: 0o644 });
    await administer("backup", backup);
    expect(statSync(backup).mode & 0o077).toBe(0);

    // Killed, so that its write-ahead log stays; then all files are opened to other users.
    await stop(first.server, "SIGKILL");
    const key = join(dataDir, "secrets.key");
    for (const path of filesBelow(dataDir).keys()) chmodSync(path, 0o644);
    chmodSync(dataDir, 0o755);
    // Whoever has read the key has it: it is not silently closed again.
    const refused = await runWithoutUmask(
      "dist/edge-control",
      "serve",
      "--data-dir",
      dataDir,
      "--listen",
      "127.0.0.1:0",
    );
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(key)]);
    chmodSync(key, 0o600);
    for (const path of filesBelow(dataDir).keys()) if (path !== key) chmodSync(path, 0o644);
    chmodSync(dataDir, 0o755);
    expect(readAsNobody(join(dataDir, "edge-control.sqlite"))).not.toBe("");
    const second = await serve();
    expect(openToOthers(dataDir)).toEqual([]);
    expect(second.server.stdout()).toContain("edge-control.sqlite 0644 -> 0600");

    // Administration commands restrict them too, while the running server keeps its lock.
    chmodSync(join(dataDir, "edge-control.sqlite"), 0o644);
    chmodSync(join(dataDir, "server.lock"), 0o644);
    const listed = await runWithoutUmask("dist/edge-control", "account", "create", "b", "--data-dir", dataDir);
    expect(listed.stderr).toContain("edge-control.sqlite 0644 -> 0600");
    expect(openToOthers(dataDir)).toEqual([]);
    const competing = await runWithoutUmask(
      "dist/edge-control",
      "serve",
      "--data-dir",
      dataDir,
      "--listen",
      "127.0.0.1:0",
    );
    expect([competing.code, competing.stderr]).toEqual([1, expect.stringContaining("another edge-control serves")]);

    await stop(second.server, "SIGTERM");
    const { replaced = "" } = await administer("restore", backup);
    expect(existsSync(replaced)).toBe(true);
    expect(openToOthers(dirname(replaced))).toEqual([]);
  });

  it("and the files that enrolment writes on the device are accessible to their user alone", async () => {
    const { port } = await serve();
    const { account_id: account = "" } = await administer("account", "create", "acme");
    const asset = await administer("asset", "add", "--account", account, "--serial-number", "GW-1");
    const etc = join(directory.path, "etc", "edge-agent");
    const tokenFile = join(directory.path, "token");
    writeFileSync(tokenFile, asset["device_token"] ?? "", { mode: 0o600 });
    const args = ["--url", `http://127.0.0.1:${port}`, "--token-file", tokenFile, "--config", join(etc, "config.json")];
    const enrolled = await runWithoutUmask("dist/edge-agent", "enroll", ...args);
    expect([enrolled.code, enrolled.stderr]).toEqual([0, ""]);
    const modes = [etc, join(etc, "token"), join(etc, "config.json")].map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o755, 0o600, 0o640]);
  });
});
