import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";

const UNIT = "edge-agent";
const TIMEOUT_MS = 1_000;

/** What the service manager reports about a daemon that is not running. */
export interface ServiceFacts {
  /** Such as `failed (failed), ended with exit-code, status 1, since ...`. */
  readonly summary: string;
  /** Last lines of the daemon's journal. */
  readonly journal: readonly string[];
}

/** Asks systemd. Returns `undefined` if it is not running or does not know the service. */
export async function askServiceManager(): Promise<ServiceFacts | undefined> {
  // If systemd is not process 1, its tools hang or fail.
  if (!existsSync("/run/systemd/system")) return undefined;
  const [shown, journal] = await Promise.all([
    output("systemctl", [
      "show",
      UNIT,
      "--property=LoadState,ActiveState,SubState,Result,ExecMainStatus,StateChangeTimestamp",
    ]),
    output("journalctl", ["--unit", UNIT, "--lines", "8", "--no-pager", "--output", "cat", "--quiet"]),
  ]);
  const facts = new Map(shown.split("\n").map((line) => [line.split("=")[0], line.split("=").slice(1).join("=")]));
  if (facts.get("LoadState") !== "loaded") return undefined;
  return { summary: summarize(facts), journal: journal.split("\n").filter((line) => line !== "") };
}

function summarize(facts: ReadonlyMap<string | undefined, string>): string {
  const state = `${facts.get("ActiveState")} (${facts.get("SubState")})`;
  const result = facts.get("Result");
  const status = facts.get("ExecMainStatus");
  const end = result === "success" || !result ? "" : `, ended with ${result}, status ${status}`;
  const since = facts.get("StateChangeTimestamp");
  return `${state}${end}${since ? `, since ${since}` : ""}`;
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
