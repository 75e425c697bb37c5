/** All checks, in the order in which to fix them. A check is only meaningful if the checks in `needs` have passed. */
export const CHECKS = [
  { id: "service", title: "Service", needs: [] },
  { id: "config", title: "Configuration", needs: [] },
  { id: "credentials", title: "Token, certificates", needs: ["config"] },
  { id: "permissions", title: "State, permissions", needs: [] },
  { id: "store", title: "Store", needs: [] },
  { id: "crashes", title: "Crashes", needs: ["store"] },
  { id: "clock", title: "Clock", needs: [] },
  { id: "interface", title: "Network interface", needs: [] },
  { id: "modem", title: "SIM modem", needs: [] },
  { id: "dns", title: "Host name", needs: ["config", "interface"] },
  { id: "tcp", title: "TCP connection", needs: ["dns"] },
  { id: "proxy", title: "Proxy", needs: ["tcp"] },
  { id: "tls", title: "TLS", needs: ["proxy", "clock", "credentials"] },
  { id: "token", title: "Device token", needs: ["tls"] },
  { id: "engine", title: "Container engine", needs: [] },
  { id: "publishing", title: "Published ports", needs: ["config", "store", "engine"] },
  { id: "names", title: "Names of apps", needs: ["engine"] },
  { id: "volumes", title: "Volumes of apps", needs: ["config", "store"] },
  { id: "registry", title: "Registries", needs: ["config", "credentials", "clock", "interface"] },
  { id: "disk", title: "Disk space", needs: [] },
  { id: "files", title: "File descriptors", needs: [] },
  { id: "ports", title: "Port range", needs: [] },
  { id: "cgroups", title: "Control groups", needs: [] },
  { id: "releases", title: "Releases", needs: [] },
  { id: "agent", title: "Agent", needs: [] },
] as const satisfies readonly Check[];

interface Check {
  readonly id: string;
  readonly title: string;
  readonly needs: readonly string[];
}

export type CheckId = (typeof CHECKS)[number]["id"];

/** A check with a probe. The other two are judged by what systemd and the agent report, and by the results of these. */
export type ProbedCheckId = Exclude<CheckId, "service" | "agent">;

/** Result of one check. `warning`: works now but is likely to fail later. */
export interface CheckResult {
  readonly verdict: "good" | "warning" | "bad" | "skipped";
  /** What was found, as a sentence. */
  readonly text: string;
  /** What a person can do about it. */
  readonly next?: string;
}

export type CheckResults = ReadonlyMap<CheckId, CheckResult>;

/** Returns the failed checks that a check depends on, directly or through skipped ones. */
export function failedDependencies(id: CheckId, verdicts: CheckResults): CheckId[] {
  const roots = checkOf(id).needs.flatMap((need) => {
    const verdict = verdicts.get(need)?.verdict;
    if (verdict === "skipped") return failedDependencies(need, verdicts);
    return verdict === "bad" ? [need] : [];
  });
  return [...new Set(roots)];
}

/** Returns the result of a check that is skipped because checks it depends on have failed. */
export function skipped(failed: readonly CheckId[]): CheckResult {
  return { verdict: "skipped", text: `Not checked, waits for: ${failed.map((id) => checkOf(id).title).join(", ")}.` };
}

/** Returns the failed checks in the order in which to fix them. */
export function failedChecks(verdicts: CheckResults): CheckId[] {
  return CHECKS.map(({ id }) => id).filter((id) => verdicts.get(id)?.verdict === "bad");
}

/** Returns a check's entry in the table. */
export function checkOf(id: CheckId): { readonly title: string; readonly needs: readonly CheckId[] } {
  const check = CHECKS.find((candidate) => candidate.id === id);
  if (!check) throw new Error(`there is no check ${id}`);
  return check;
}
