import { isRolloutOver, type RolloutState } from "../../protocol/rollout.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import type { RolloutDecision } from "../core/fleets/progress.ts";
import type { Rollout } from "../core/fleets/rollout.ts";
import type { AuditEntry } from "../store/audit.ts";

const WORDS: Readonly<Record<RolloutState, string>> = {
  draft: "A draft",
  awaiting_approval: "Awaits approval",
  running: "Under way",
  paused: "Paused",
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Cancelled",
  superseded: "Superseded",
  rolling_back: "Going back",
  rolled_back: "Went back",
};

/** Returns how the rollout is, for people. */
export function describeRollout({
  state,
  wave,
  waveSizes,
  reason,
}: Pick<Rollout, "state" | "wave" | "waveSizes" | "reason">): string {
  const hasWaves = waveSizes.length > 1 && !isRolloutOver({ state });
  const where = hasWaves ? `${WORDS[state]}, wave ${wave + 1} of ${waveSizes.length}.` : `${WORDS[state]}.`;
  return reason === undefined ? where : `${where} ${reason}`;
}

/** Returns the entry of the audit log for a rollout that stops by itself; `undefined` for other decisions. */
export function stopEntry(
  { id, accountId }: Rollout,
  fleet: Fleet,
  decision: RolloutDecision,
  nowMs: number,
): AuditEntry | undefined {
  if (decision.kind !== "stop") return undefined;
  const { state, reason } = decision.fields;
  return {
    accountId,
    at: Math.floor(nowMs / 1000),
    actor: { kind: "service", id },
    source: undefined,
    action: state === "rolling_back" ? "rollout.rolled_back" : "rollout.paused",
    assetUuid: "",
    app: "",
    subject: { kind: "rollout", id },
    outcome: "ok",
    details: { fleet: fleet.name, reason },
  };
}
