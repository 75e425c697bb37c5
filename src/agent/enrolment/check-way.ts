import { checkOf, type CheckId, culprits, type Verdict } from "../core/doctor.ts";
import type { Patient, Probe } from "../doctor/probe.ts";
import { PROBES } from "../doctor/probes.ts";
import { runChecks } from "../doctor/run-checks.ts";

/** What makes a link impossible, before the token is asked about. */
const ON_THE_WAY: ReadonlySet<CheckId> = new Set(["config", "clock", "interface", "dns", "tcp", "proxy", "tls"]);

const notOnTheWay: Probe = async () => ({ verdict: "good", text: "" });

export interface Blocked {
  readonly reason: string;
  readonly next?: string;
}

/** The first thing that is broken on the way to the control plane. @param withToken whether there is a token to try */
export async function checkWay(patient: Patient, withToken: boolean): Promise<Blocked | undefined> {
  const probes = Object.fromEntries(
    Object.entries(PROBES).map(([id, probe]) => {
      const isAsked = ON_THE_WAY.has(id as CheckId) || (withToken && id === "token");
      return [id, isAsked ? probe : notOnTheWay];
    }),
  ) as unknown as typeof PROBES;
  const verdicts = await runChecks(probes, patient, patient.clock);
  const id = culprits(verdicts)[0];
  return id && describe(id, verdicts.get(id));
}

function describe(id: CheckId, verdict: Verdict | undefined): Blocked | undefined {
  if (!verdict) return undefined;
  const reason = `${checkOf(id).title}: ${verdict.text.replace(/\.$/, "")}`;
  return { reason, ...(verdict.next !== undefined && { next: verdict.next }) };
}
