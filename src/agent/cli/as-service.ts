import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { DEFAULT_CONFIG } from "../core/host/default-paths.ts";
import type { CheckId, CheckResult, CheckResults } from "../core/doctor/checks.ts";
import type { ServiceIdentity, Unit } from "./service-manager.ts";

/** Hidden option of `doctor`: it reads an errand from standard input, and becomes the service's user before it looks. */
export const AS_SERVICE = "--as-service";

const TIMEOUT_MS = 25_000;
const PROXY_VARIABLES = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
/** systemd sets it for each service. */
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";

/** What the doctor that looks as the service is told. */
interface Errand extends ServiceIdentity {
  /** The caller's proxy, if the service has none. */
  readonly callerProxy: string | null;
}

/** Whether the unit runs the agent with this configuration, and the caller may become its user. */
export function canLookAs(unit: Unit | undefined, configPath: string): unit is Unit {
  const isNobody = unit?.missingUser !== undefined || unit?.missingGroup !== undefined;
  if (unit === undefined || isNobody || process.geteuid?.() !== 0) return false;
  const [, configured = DEFAULT_CONFIG] = /(?:--config|-c)[= ](\S+)/.exec(unit.command) ?? [];
  return resolve(configured) === resolve(configPath);
}

/**
 * Runs the doctor's checks in a child process as the service's user, with the environment of its unit and nothing of the
 * caller's. Rejects if the child cannot tell its results.
 */
export async function checkAsService(unit: Unit, configPath: string): Promise<CheckResults> {
  const { identity, environment } = unit;
  const isProxied = PROXY_VARIABLES.some((name) => environment[name]);
  const proxy = PROXY_VARIABLES.find((name) => process.env[name]);
  const errand: Errand = {
    ...identity,
    callerProxy: proxy === undefined || isProxied ? null : `${proxy}=${process.env[proxy] ?? ""}`,
  };
  const own = [...process.execArgv, process.argv[1] ?? ""];
  const args = [...own, "doctor", "--json", "--config", configPath, AS_SERVICE];
  const options = { env: { PATH: DEFAULT_PATH, ...environment }, cwd: "/", timeout: TIMEOUT_MS };
  // Exits with 1 if something is broken.
  const running = promisify(execFile)(process.execPath, args, options);
  // Not an argument, which every user can read: a proxy may have a password.
  running.child.stdin?.end(JSON.stringify(errand));
  const { stdout, stderr } = await running.catch((error: { readonly stdout?: string; readonly stderr?: string }) => ({
    stdout: "",
    stderr: "",
    ...error,
  }));
  if (stdout === "") throw new Error(stderr.trim().split("\n").at(-1) || "it gave no answer");
  const { checks } = JSON.parse(stdout) as { checks: readonly ({ readonly id: CheckId } & CheckResult)[] };
  return new Map(
    checks.map(({ id, verdict, text, next }) => [id, { verdict, text, ...(next !== undefined && { next }) }]),
  );
}

/** Makes this process one of the service's user, for good. Groups that do not exist are left out. */
export function becomeService(): Pick<Errand, "callerProxy"> {
  const { user, group, supplementaryGroups, callerProxy } = JSON.parse(readFileSync(0, "utf8")) as Errand;
  if (user === "root") return { callerProxy };
  const primary = group === "" ? user : group;
  // First: the groups of a process contain its own.
  process.setgid?.(primary);
  // Missing in the types.
  const { initgroups } = process as unknown as { initgroups: (user: string, extra: string) => void };
  initgroups(user, primary);
  for (const extra of supplementaryGroups) {
    try {
      process.setgroups?.([...(process.getgroups?.() ?? []), extra]);
    } catch {
      // The Service check reports it: systemd does not start a unit whose group does not exist.
    }
  }
  process.setuid?.(user);
  return { callerProxy };
}
