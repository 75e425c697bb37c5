import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import { describeState, type ServiceFacts } from "../core/doctor/judge-service.ts";

const UNIT = "edge-agent";
const TIMEOUT_MS = 2_000;

/** The user that the service runs as. */
export interface ServiceIdentity {
  readonly user: string;
  /** Empty: the user's own. */
  readonly group: string;
  readonly supplementaryGroups: readonly string[];
}

/** The unit as systemd has read it. */
export interface Unit extends ServiceFacts {
  readonly identity: ServiceIdentity;
  /** Environment of the running agent, or what the unit sets for the next start. */
  readonly environment: Readonly<Record<string, string>>;
  /** Command line. */
  readonly command: string;
}

const PROPERTIES =
  "LoadState,ActiveState,SubState,Result,ExecMainStatus,MainPID,NRestarts,StateChangeTimestamp,UnitFileState,NeedDaemonReload,User,Group,SupplementaryGroups,Environment,EnvironmentFiles,ExecCondition,ExecStart";

/** Asks systemd. Returns `undefined` if it is not running or does not know the service. */
export async function askServiceManager(): Promise<Unit | undefined> {
  // If systemd is not process 1, its tools hang or fail.
  if (!existsSync("/run/systemd/system")) return undefined;
  const [shown, journal] = await Promise.all([
    output("systemctl", ["show", UNIT, `--property=${PROPERTIES}`]),
    output("journalctl", ["--unit", UNIT, "--lines", "8", "--no-pager", "--output", "cat", "--quiet"]),
  ]);
  const facts = new Map(shown.split("\n").map((line) => [line.split("=")[0], line.split("=").slice(1).join("=")]));
  const text = (name: string): string => facts.get(name) ?? "";
  if (text("LoadState") === "" || text("LoadState") === "not-found") return undefined;
  const pid = Number(text("MainPID"));
  return {
    load: text("LoadState"),
    active: text("ActiveState"),
    sub: text("SubState"),
    result: text("Result"),
    status: Number(text("ExecMainStatus")),
    conditionStatus: Number(/ status=(\d+)/.exec(text("ExecCondition"))?.[1] ?? 0),
    pid,
    restarts: Number(text("NRestarts")),
    since: text("StateChangeTimestamp"),
    atBoot: text("UnitFileState"),
    missingUser: (await userExists(text("User"))) ? undefined : text("User"),
    missingGroup: await findMissingGroup([text("Group"), ...text("SupplementaryGroups").split(" ")].filter(Boolean)),
    isStale: text("NeedDaemonReload") === "yes",
    journal: journal.split("\n").filter((line) => line !== ""),
    identity: {
      user: text("User") || "root",
      group: text("Group"),
      supplementaryGroups: text("SupplementaryGroups").split(" ").filter(Boolean),
    },
    environment: environmentOf(pid, shown),
    command: text("ExecStart"),
  };
}

/** Returns what programs may read of the unit: its environment may hold passwords of proxies. */
export function serviceDocument({ environment, ...unit }: Unit): object {
  return { summary: describeState(unit), ...unit, environment: Object.keys(environment) };
}

function environmentOf(pid: number, shown: string): Record<string, string> {
  const running = pid > 0 ? readText(`/proc/${pid}/environ`) : "";
  if (running !== "") return toRecord(running.split("\0"));
  const lines = shown.split("\n");
  const own = lines.filter((line) => line.startsWith("Environment=")).flatMap((line) => wordsOf(line.slice(12)));
  const files = lines
    .filter((line) => line.startsWith("EnvironmentFiles="))
    .map((line) => line.slice(17).replace(/ \(ignore_errors=\w+\)$/, ""));
  // systemd.exec(5): settings of the files win.
  return toRecord([...own, ...files.flatMap((file) => readText(file).split("\n").flatMap(assignmentOf))]);
}

/** Splits what systemd prints of `Environment=`: words, quoted if they contain spaces. */
function wordsOf(text: string): string[] {
  const words = text.match(/\$?"(?:\\.|[^"\\])*"|\$'(?:\\.|[^'\\])*'|\S+/g) ?? [];
  return words.map((word) =>
    /^\$?["']/.test(word) ? word.replace(/^\$?["']|["']$/g, "").replace(/\\(.)/g, "$1") : word,
  );
}

/** Returns the assignment in a line of an environment file. */
function assignmentOf(line: string): string[] {
  const found = /^\s*(\w+)=\s*(.*?)\s*$/.exec(line);
  return found ? [`${found[1]}=${(found[2] ?? "").replace(/^(["'])(.*)\1$/, "$2")}`] : [];
}

function toRecord(assignments: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    assignments.flatMap((text) => {
      const at = text.indexOf("=");
      return at > 0 ? [[text.slice(0, at), text.slice(at + 1)]] : [];
    }),
  );
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

async function userExists(user: string): Promise<boolean> {
  return user === "" || (await output("id", ["-u", user])) !== "";
}

async function findMissingGroup(names: readonly string[]): Promise<string | undefined> {
  const found = await Promise.all(names.map((name) => output("getent", ["group", name])));
  return names.find((_name, index) => found[index] === "");
}

/** Returns the last lines of the agent's journal; empty if there is none. */
export async function readJournal(lines: number): Promise<string> {
  if (!existsSync("/run/systemd/system")) return "";
  return await output("journalctl", ["--unit", UNIT, "--lines", String(lines), "--no-pager", "--quiet"], 10_000);
}

async function output(command: string, args: readonly string[], timeout: number = TIMEOUT_MS): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { timeout, maxBuffer: 16 * 1024 * 1024 });
    return stdout;
  } catch {
    return "";
  }
}
