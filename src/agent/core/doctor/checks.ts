/** What is checked, from the ground up. `needs` have to be in order before a check says anything about its own layer. */
export const CHECKS = [
  { id: "config", title: "Configuration", needs: [] },
  { id: "permissions", title: "Permissions", needs: ["config"] },
  { id: "store", title: "Store", needs: ["config"] },
  { id: "clock", title: "Clock", needs: [] },
  { id: "interface", title: "Network interface", needs: [] },
  { id: "modem", title: "SIM modem", needs: [] },
  { id: "dns", title: "Host name", needs: ["config", "interface"] },
  { id: "tcp", title: "TCP connection", needs: ["dns"] },
  { id: "proxy", title: "Proxy", needs: ["tcp"] },
  { id: "tls", title: "TLS", needs: ["proxy", "clock"] },
  { id: "token", title: "Device token", needs: ["tls"] },
  { id: "engine", title: "Container engine", needs: ["config"] },
  { id: "registry", title: "Registries", needs: ["config", "clock", "interface"] },
  { id: "disk", title: "Disk space", needs: ["config"] },
  { id: "files", title: "File descriptors", needs: [] },
  { id: "ports", title: "Port range", needs: [] },
  { id: "cgroups", title: "Control groups", needs: [] },
] as const satisfies readonly Check[];

interface Check {
  readonly id: string;
  readonly title: string;
  readonly needs: readonly string[];
}

export type CheckId = (typeof CHECKS)[number]["id"];

/** What one look showed. `warning` is for what works now and may not tomorrow. */
export interface CheckResult {
  readonly verdict: "good" | "warning" | "bad" | "skipped";
  /** What was found, in a sentence. */
  readonly text: string;
  /** What a person can do about it. */
  readonly next?: string;
}

export type CheckResults = ReadonlyMap<CheckId, CheckResult>;

/** The layers below a check that are broken by themselves: while there are any, it would only be blamed for them. */
export function failedDependencies(id: CheckId, verdicts: CheckResults): CheckId[] {
  const roots = checkOf(id).needs.flatMap((need) => {
    const verdict = verdicts.get(need)?.verdict;
    if (verdict === "skipped") return failedDependencies(need, verdicts);
    return verdict === "bad" ? [need] : [];
  });
  return [...new Set(roots)];
}

/** The verdict on a check that could not be made because of what lies below it. */
export function skipped(below: readonly CheckId[]): CheckResult {
  return { verdict: "skipped", text: `Not checked, waits for: ${below.map((id) => checkOf(id).title).join(", ")}.` };
}

/** What to put right, and in this order: each is broken by itself and not by what lies below it. */
export function failedChecks(verdicts: CheckResults): CheckId[] {
  return CHECKS.map(({ id }) => id).filter((id) => verdicts.get(id)?.verdict === "bad");
}

/** The table's row of a check. */
export function checkOf(id: CheckId): { readonly title: string; readonly needs: readonly CheckId[] } {
  const check = CHECKS.find((candidate) => candidate.id === id);
  if (!check) throw new Error(`there is no check ${id}`);
  return check;
}
