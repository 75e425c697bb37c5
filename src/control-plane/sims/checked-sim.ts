import { type Clock, unixNow } from "../../lib/clock.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import type { SimState } from "../core/asset.ts";
import { afterCheck, followUpPauseMs, isSameState } from "../core/sims/observed-state.ts";
import type { ObservedSim } from "../sim-operator/sim-operator.ts";
import type { AuditEntry } from "../store/audit.ts";
import type { DueSim, SimCheck } from "../store/sims.ts";

/** Share of the interval by which checks of different SIMs drift apart, so that they spread over it. */
const SPREAD = 0.2;

export interface CheckTime {
  readonly clock: Clock;
  /** How often each SIM is read at its operator, in milliseconds. */
  readonly intervalMs: number;
}

/** What is stored of a SIM after its operator was asked for it. */
export interface CheckedSim {
  readonly state: SimState;
  readonly check: SimCheck;
  /** What there is to tell; `undefined` where all is as it was. */
  readonly entry: AuditEntry | undefined;
}

/**
 * Returns what is stored after the operator was asked now.
 *
 * @param sim as it was known before
 * @param observed `undefined`: the operator does not know the SIM; its last state stays
 */
export function checkedSim(
  sim: DueSim,
  current: SimState,
  observed: ObservedSim | undefined,
  time: CheckTime,
): CheckedSim {
  const { clock, intervalMs } = time;
  const nowMs = clock.now();
  const state = observed ? afterCheck(current, observed, unixNow(clock)) : current;
  const nextMs =
    state.pending && observed
      ? followUpPauseMs(state.pending, nowMs)
      : intervalMs * (1 - SPREAD / 2 + SPREAD * Math.random());
  const check = {
    operatorStatus: observed?.operatorStatus,
    allowanceBytes: observed?.allowanceBytes,
    isLost: observed === undefined,
    checkedAtMs: nowMs,
    nextCheckAtMs: Math.ceil(nowMs + nextMs),
  };
  return { state, check, entry: entryOf(sim, current, state, observed, clock) };
}

function entryOf(
  { asset, type, isLost }: DueSim,
  before: SimState,
  after: SimState,
  observed: ObservedSim | undefined,
  clock: Clock,
): AuditEntry | undefined {
  const action = actionOf({ before, after, wasLost: isLost, isLost: observed === undefined });
  if (action === undefined) return undefined;
  const { accountId, uuid, name } = asset;
  const origin = { accountId, actor: { kind: "service", id: "sims" }, source: undefined } as const;
  return auditEntry(origin, clock, {
    action,
    assetUuid: uuid,
    subject: { kind: "asset", id: uuid, name },
    details: {
      sim_type: type,
      status: after.status,
      network_group: after.networkGroup,
      operator_status: observed?.operatorStatus,
    },
  });
}

interface SimDifference {
  readonly before: SimState;
  readonly after: SimState;
  readonly wasLost: boolean;
  readonly isLost: boolean;
}

function actionOf({ before, after, wasLost, isLost }: SimDifference) {
  if (isLost) return wasLost ? undefined : "sim.lost";
  if (before.pending && !after.pending) return "sim.settled";
  if (!isSameState(before, after)) return "sim.corrected";
  return wasLost ? "sim.found" : undefined;
}
