import { checkOf, type CheckId, failedChecks, type CheckResult } from "../core/doctor/checks.ts";
import type { ProbeContext, Probe } from "../doctor/probe.ts";
import { PROBES } from "../doctor/probes.ts";
import { runChecks } from "../doctor/run-checks.ts";

/** Checks that must pass before the token is tried. */
const CONNECTIVITY_CHECKS: ReadonlySet<CheckId> = new Set([
  "config",
  "credentials",
  "clock",
  "interface",
  "dns",
  "tcp",
  "proxy",
  "tls",
]);

const skippedProbe: Probe = async () => ({ verdict: "skipped", text: "Not checked." });

export interface Blocked {
  readonly reason: string;
  readonly next?: string;
}

/**
 * Returns the first failed check of the route to the control plane, if any.
 *
 * @param withToken whether to check the token too
 */
export async function checkConnectivity(context: ProbeContext, withToken: boolean): Promise<Blocked | undefined> {
  const probes = Object.fromEntries(
    Object.entries(PROBES).map(([id, probe]) => {
      const isNeeded = CONNECTIVITY_CHECKS.has(id as CheckId) || (withToken && id === "token");
      return [id, isNeeded ? probe : skippedProbe];
    }),
  ) as unknown as typeof PROBES;
  const results = await runChecks(probes, context, context.clock);
  const id = failedChecks(results)[0];
  return id && describe(id, results.get(id));
}

function describe(id: CheckId, result: CheckResult | undefined): Blocked | undefined {
  if (!result) return undefined;
  const reason = `${checkOf(id).title}: ${result.text.replace(/\.$/, "")}`;
  return { reason, ...(result.next !== undefined && { next: result.next }) };
}
