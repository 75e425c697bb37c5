import { checkOf, type CheckId, failedChecks, type CheckResult } from "../core/doctor/checks.ts";
import type { ProbeContext, Probe } from "../doctor/probe.ts";
import { PROBES } from "../doctor/probes.ts";
import { runChecks } from "../doctor/run-checks.ts";

/** What makes a link impossible, before the token is asked about. */
const CONNECTIVITY_CHECKS: ReadonlySet<CheckId> = new Set([
  "config",
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

/** The first thing that is broken on the way to the control plane. @param withToken whether there is a token to try */
export async function checkConnectivity(patient: ProbeContext, withToken: boolean): Promise<Blocked | undefined> {
  const probes = Object.fromEntries(
    Object.entries(PROBES).map(([id, probe]) => {
      const isAsked = CONNECTIVITY_CHECKS.has(id as CheckId) || (withToken && id === "token");
      return [id, isAsked ? probe : skippedProbe];
    }),
  ) as unknown as typeof PROBES;
  const verdicts = await runChecks(probes, patient, patient.clock);
  const id = failedChecks(verdicts)[0];
  return id && describe(id, verdicts.get(id));
}

function describe(id: CheckId, verdict: CheckResult | undefined): Blocked | undefined {
  if (!verdict) return undefined;
  const reason = `${checkOf(id).title}: ${verdict.text.replace(/\.$/, "")}`;
  return { reason, ...(verdict.next !== undefined && { next: verdict.next }) };
}
