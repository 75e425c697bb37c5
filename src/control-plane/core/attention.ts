import type { AppReport } from "../../protocol/apps/app-report.ts";
import type { AttentionReason } from "../../protocol/assets/attention.ts";
import type { DeploymentStatus } from "../../protocol/deployments/deployment-event.ts";
import type { DeviceDataUsage } from "../../protocol/link/data-usage.ts";
import type { ErrorCode } from "../../protocol/errors/errors.ts";
import type { DeviceBoots } from "./device-boots.ts";
import type { MemberStateName } from "../../protocol/fleets/fleet-member.ts";
import type { DeviceReport } from "./device-report.ts";

/*
 * Reasons why an asset needs attention, as a set of bits in one number that is stored. The report, the ledger, the
 * data plans and the deployments of the asset each decide on bits of their own, so that none of them has to read what the others are based on.
 * `not_seen` follows from the time and is not stored.
 */

/** In the order in which they were added. The next one is 1_048_576. */
const BITS = {
  app_missing: 1,
  app_restarting: 2,
  app_unhealthy: 4,
  /** By the device's report on an app. */
  reported_failure: 8,
  /** By the record of the deployment that ended last. */
  recorded_failure: 16,
  update_waiting: 32,
  disk_low: 64,
  data_budget_spent: 128,
  /** By the use of the data plans of its SIMs. */
  data: 256,
  app_not_repaired: 512,
  /** A device has connected that is not accepted. */
  acceptance: 1024,
  /** It has taken the place of another one. */
  device_replaced: 2048,
  /** An app of a fleet was changed other than by the fleet, or is not there. */
  drifted: 4096,
  /** A person has stopped an app of a fleet. */
  stopped_by_hand: 8192,
  /** By the device's report: its disk is read-only, or fails. */
  state_not_writable: 16_384,
  /** Another device has its token. */
  cloned_identity: 32_768,
  /** Its container engine has lost something, or cannot remove a container. */
  engine_trouble: 65_536,
  /** Its container is there and does not run, or is paused, although the agent was not asked for that. */
  app_stopped: 131_072,
  /** By the device's report: its time of day is not the service's. */
  clock_wrong: 262_144,
  /** By the device's report: its data budget of the month does not last. */
  data_budget_low: 524_288,
} as const;

/** The bits that every report decides on; `FACT_BITS` with one that has the facts of the device. */
const REPORT_BITS =
  BITS.app_missing |
  BITS.app_stopped |
  BITS.app_restarting |
  BITS.app_unhealthy |
  BITS.app_not_repaired |
  BITS.reported_failure |
  BITS.state_not_writable;
const FACT_BITS = BITS.engine_trouble | BITS.clock_wrong | BITS.data_budget_low;
/** The bits that the deployment which ended last decides on; `disk_low` until the next report that tells about the disk. */
export const OUTCOME_BITS = BITS.recorded_failure | BITS.disk_low;
/** Set while a deployment waits for the device. */
export const WAITING_BIT = BITS.update_waiting;
/** Counts only until the day or month ends in which the budget was spent. */
export const BUDGET_BIT = BITS.data_budget_spent;
/** Set while the data plan of one of its SIMs is spent, or will be before the month ends. */
export const PLAN_BIT = BITS.data;
/** Set when a device connects that was not accepted, until it is. */
export const ACCEPTANCE_BIT = BITS.acceptance;
/** Set when another device has taken the place of one in service, until it is accepted. */
export const REPLACED_BIT = BITS.device_replaced;
/** The bits that the judgement of the members of fleets decides on. */
export const MEMBER_BITS = BITS.drifted | BITS.stopped_by_hand;
/** The bits that count whatever the time is: all but one. */
export const TIMELESS_BITS = Object.values(BITS).reduce((bits, bit) => bits | bit, 0) & ~BUDGET_BIT;
/** Set while two devices with one token are seen. */
export const CLONED_BIT = BITS.cloned_identity;

/** The bits of each reason that is stored, in the order of display. */
export const REASON_BITS = {
  cloned_identity: BITS.cloned_identity,
  device_replaced: BITS.device_replaced,
  acceptance: BITS.acceptance,
  app_missing: BITS.app_missing,
  app_stopped: BITS.app_stopped,
  app_restarting: BITS.app_restarting,
  app_unhealthy: BITS.app_unhealthy,
  app_not_repaired: BITS.app_not_repaired,
  drifted: BITS.drifted,
  stopped_by_hand: BITS.stopped_by_hand,
  deployment_failed: BITS.reported_failure | BITS.recorded_failure,
  update_waiting: BITS.update_waiting,
  engine_trouble: BITS.engine_trouble,
  state_not_writable: BITS.state_not_writable,
  disk_low: BITS.disk_low,
  clock_wrong: BITS.clock_wrong,
  data_budget_spent: BITS.data_budget_spent,
  data_budget_low: BITS.data_budget_low,
  data: BITS.data,
} as const satisfies Record<Exclude<AttentionReason, "not_seen">, number>;

/** What is stored of how an asset is. Times are Unix seconds. */
export interface AssetState {
  /** Whether a running instance of the service holds a session of the device. */
  readonly isConnected: boolean;
  /** When the device was last known to be connected; `undefined` if never. */
  readonly lastSeenAt: number | undefined;
  readonly agentVersion: string | undefined;
  readonly reasonBits: number;
  readonly budgetSpentUntil: number | undefined;
  /** When its device was accepted; `undefined`: nothing of a fleet reaches it until it is accepted. */
  readonly acceptedAt: number | undefined;
  /** When what people set of the asset was changed last, or its SIMs. */
  readonly updatedAt: number;
  /** What tells its device from another one with the same token; `undefined` if none was connected. */
  readonly boots?: DeviceBoots | undefined;
}

/** The state of an asset whose device was never connected, and that is not accepted. */
export const NEW_ASSET_STATE: AssetState = {
  isConnected: false,
  lastSeenAt: undefined,
  agentVersion: undefined,
  reasonBits: 0,
  budgetSpentUntil: undefined,
  acceptedAt: undefined,
  updatedAt: 0,
};

/** What the attention of an asset depends on besides its state. Times are Unix seconds. */
export interface AttentionTime {
  readonly now: number;
  /** A device that was last seen before then needs attention. */
  readonly notSeenBefore: number;
}

/** Returns why the asset needs attention, in the order of display. */
export function reasonsOf(state: AssetState, { now, notSeenBefore }: AttentionTime): AttentionReason[] {
  const { isConnected, lastSeenAt, reasonBits, budgetSpentUntil = 0 } = state;
  const isNotSeen = !isConnected && lastSeenAt !== undefined && lastSeenAt < notSeenBefore;
  // As most are.
  if (!isNotSeen && reasonBits === 0) return [];
  const stored = reasonsOfBits(bitsAt(reasonBits, budgetSpentUntil, now));
  return isNotSeen ? ["not_seen", ...stored] : stored;
}

/** Returns the bits that count at a time. Times are Unix seconds. */
export function bitsAt(bits: number, budgetSpentUntil: number | null | undefined, at: number): number {
  return (budgetSpentUntil ?? 0) > at ? bits : bits & ~BUDGET_BIT;
}

/** Returns the reasons that are set in a stored number. */
export function reasonsOfBits(bits: number): AttentionReason[] {
  if (bits === 0) return [];
  const reasons = Object.keys(REASON_BITS) as (keyof typeof REASON_BITS)[];
  return reasons.filter((reason) => (bits & REASON_BITS[reason]) !== 0);
}

/** Returns the bits that a report decides on. One of an earlier agent does not tell about the disk. */
export function bitsToldBy({ device }: Pick<DeviceReport, "device">): number {
  if (!device) return REPORT_BITS;
  return REPORT_BITS | FACT_BITS | (device.disk_low === undefined ? 0 : BITS.disk_low);
}

/** Returns the bits of `bitsToldBy` that a report sets. */
export function bitsOfReport({ apps, device }: Pick<DeviceReport, "apps" | "device">): number {
  let bits = device?.disk_low === true ? BITS.disk_low : 0;
  if ((device?.engine_troubles ?? []).length > 0) bits |= BITS.engine_trouble;
  if (device?.state_writable === false) bits |= BITS.state_not_writable;
  if (device?.clock_wrong === true) bits |= BITS.clock_wrong;
  if (device?.data_budget_low === true) bits |= BITS.data_budget_low;
  for (const app of apps) {
    const { state, paused, last_deployment: last } = app;
    if (state === "missing") bits |= BITS.app_missing;
    if (isStopped(app)) bits |= BITS.app_stopped;
    if (state === "restarting") bits |= BITS.app_restarting;
    if (state === "unhealthy") bits |= BITS.app_unhealthy;
    if (paused !== undefined) bits |= BITS.app_not_repaired;
    if (last && isFailure(last)) bits |= BITS.reported_failure;
  }
  return bits;
}

/**
 * Whether an app does not run that is to run, and has not ended as it may, as far as a report says how it is to be restarted.
 * One that is restarted after failures only has failed too often if it stays down after one.
 */
function isStopped({ state, desired_state: desired, spec, last_exit: exit }: AppReport): boolean {
  if (state !== "stopped" || desired !== "running") return false;
  const { restart_policy: policy } = spec;
  const isLeftOut = Object.keys(spec).length === 0;
  if (policy === "on-failure") return exit !== undefined && exit.code !== 0;
  return !isLeftOut && policy !== "no";
}

/** Returns the bits of `MEMBER_BITS` that the states of an asset in its fleets set. */
export function bitsOfMembers(states: readonly MemberStateName[]): number {
  let bits = 0;
  for (const state of states) {
    if (state === "drifted" || state === "missing") bits |= BITS.drifted;
    if (state === "stopped_by_hand") bits |= BITS.stopped_by_hand;
  }
  return bits;
}

/** Returns the bits of `OUTCOME_BITS` that the end of a deployment sets; `undefined` if it says nothing about the asset. */
export function bitsOfOutcome(outcome: {
  readonly status: DeploymentStatus;
  readonly code?: ErrorCode | undefined;
}): number | undefined {
  if (outcome.status === "Running" || OF_REQUEST.has(outcome.code)) return undefined;
  if (outcome.code === "ServiceUnavailable") return undefined;
  const disk = outcome.code === "InsufficientDisk" ? BITS.disk_low : 0;
  return disk | (isFailure(outcome) ? BITS.recorded_failure : 0);
}

/** The fault is the request's, of which its sender is told: the device has not failed. */
const OF_REQUEST: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  "DeploymentCancelled",
  "ErrorDeploymentAlreadyExist",
  "PlanChanged",
  "AppExists",
  "AppNotFound",
  "InvalidRequest",
  "ErrorNoName",
  "ErrorNoImage",
  "ErrorNodePortIsNotCorrectRange",
]);

function isFailure({
  status,
  code,
}: {
  readonly status: DeploymentStatus;
  readonly code?: ErrorCode | undefined;
}): boolean {
  return status === "Fail" && !OF_REQUEST.has(code);
}

const DAY_S = 24 * 3600;

/**
 * Returns until when the device's data budget is spent, by what the device said at a time; `undefined` if it is not. Days
 * and months are those of UTC. Times are Unix seconds.
 */
export function budgetSpentUntil({ budget }: Pick<DeviceDataUsage, "budget">, at: number): number | undefined {
  if (!budget) return undefined;
  const { monthly_bytes: monthly, daily_bytes: daily } = budget;
  if (monthly !== null && budget.used_this_month_bytes >= monthly) {
    const date = new Date(at * 1000);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) / 1000;
  }
  if (daily !== null && budget.used_today_bytes >= daily) return (Math.floor(at / DAY_S) + 1) * DAY_S;
  return undefined;
}
