import type { PendingChange, SimState } from "../asset.ts";

/** What an operator said of the state of a SIM. */
export interface ObservedState {
  /** `undefined` while a change of it is queued, and for a status that this service does not know. */
  readonly status: SimState["status"] | undefined;
  readonly networkGroup: string | undefined;
  /** Whether a change is queued at the operator. */
  readonly isScheduled: boolean;
}

const FIRST_PAUSE_MS = 10_000;
const MAX_PAUSE_MS = 15 * 60_000;

/**
 * Returns the state of a SIM after the operator took a change: what it confirmed so far, and what it has queued. A change that
 * contradicts what was queued before takes its place.
 *
 * @param now Unix seconds
 */
export function afterChange(
  current: SimState,
  wanted: Omit<PendingChange, "since">,
  observed: ObservedState,
  now: number,
): SimState {
  const state = confirmed(current, observed);
  if (observed.isScheduled) {
    const { since: _since, ...queued } = current.pending ?? {};
    return { ...state, pending: { ...queued, ...wanted, since: now } };
  }
  return { ...state, ...(observed.status === undefined && wanted.status !== undefined && { status: wanted.status }) };
}

/**
 * Returns the state of a SIM after its operator was asked for it. What is queued there without this service's doing is pending
 * without saying what.
 *
 * @param now Unix seconds
 */
export function afterCheck(current: SimState, observed: ObservedState, now: number): SimState {
  const state = confirmed(current, observed);
  return observed.isScheduled ? { ...state, pending: current.pending ?? { since: now } } : state;
}

/** Returns how long to wait until the operator is asked again for a change that it has queued: as long as it has waited so far. */
export function followUpPauseMs({ since }: PendingChange, nowMs: number): number {
  return Math.min(Math.max(nowMs - since * 1000, FIRST_PAUSE_MS), MAX_PAUSE_MS);
}

/** Whether both say the same of the SIM, pending changes aside. */
export function isSameState(one: SimState, other: SimState): boolean {
  return one.status === other.status && one.networkGroup === other.networkGroup;
}

function confirmed(current: SimState, { status, networkGroup }: ObservedState): SimState {
  const isSuperSim = current.networkGroup !== undefined;
  return {
    status: status ?? current.status,
    networkGroup: isSuperSim ? (networkGroup ?? current.networkGroup) : undefined,
  };
}
