import { type TimeWindow, nextWindowStartMs } from "./time-window.ts";
import type { NetworkKind } from "./network-kind.ts";
import { isClockSet, nextDayMs, nextMonthMs } from "./day.ts";

/** Configured limits on metered networks. */
export interface DataPolicy {
  /** Kinds of network the limits apply to. */
  readonly metered: readonly NetworkKind[];
  readonly dailyBytes: number | undefined;
  readonly monthlyBytes: number | undefined;
  /** Rate of all downloads together. */
  readonly bytesPerSecond: number | undefined;
  /** When downloads may begin; empty for any time. */
  readonly hours: readonly TimeWindow[];
  /** IANA name of the time zone of `hours`. */
  readonly timeZone: string;
}

/** Bytes the agent itself sent and received over metered networks, including TCP and IP overhead. */
export interface MeteredUsage {
  readonly today: number;
  readonly thisMonth: number;
}

type WaitReason = "hours" | "daily_budget" | "monthly_budget" | "clock";

export type DownloadDecision =
  | { readonly kind: "admit" }
  | {
      readonly kind: "wait";
      /** Unix milliseconds; `undefined` if unknown. */ readonly untilMs: number | undefined;
      readonly reason: WaitReason;
    }
  /** Larger than the whole budget of a day or month: waiting does not help. */
  | { readonly kind: "never"; readonly reason: WaitReason; readonly limit: number };

const ADMIT: DownloadDecision = { kind: "admit" };

/**
 * Decides whether a download may begin on this kind of network. Budgets are per UTC day and month, as the ledger
 * counts.
 *
 * @param bytes size of the download; 0 if unknown
 */
export function decideDownload(
  policy: DataPolicy,
  network: NetworkKind,
  bytes: number,
  usage: MeteredUsage,
  nowMs: number,
): DownloadDecision {
  if (!policy.metered.includes(network)) return ADMIT;
  const { dailyBytes, monthlyBytes, hours, timeZone } = policy;
  if (monthlyBytes !== undefined && bytes > monthlyBytes)
    return { kind: "never", reason: "monthly_budget", limit: monthlyBytes };
  if (dailyBytes !== undefined && bytes > dailyBytes)
    return { kind: "never", reason: "daily_budget", limit: dailyBytes };
  const isBounded = dailyBytes !== undefined || monthlyBytes !== undefined || hours.length > 0;
  // A device that was just switched on gets its time from the network soon. Until then nothing can be decided.
  if (isBounded && !isClockSet(nowMs)) return { kind: "wait", untilMs: undefined, reason: "clock" };
  if (exceeds(monthlyBytes, usage.thisMonth, bytes)) return wait("monthly_budget", nextMonthMs(nowMs), policy);
  if (exceeds(dailyBytes, usage.today, bytes)) return wait("daily_budget", nextDayMs(nowMs), policy);
  const open = nextWindowStartMs(hours, nowMs, timeZone);
  return open === nowMs ? ADMIT : { kind: "wait", untilMs: open, reason: "hours" };
}

/** After the budget is renewed, the download still has to wait for the download window. */
function wait(reason: WaitReason, fromMs: number, { hours, timeZone }: DataPolicy): DownloadDecision {
  return { kind: "wait", untilMs: nextWindowStartMs(hours, fromMs, timeZone), reason };
}

function exceeds(limit: number | undefined, used: number, bytes: number): boolean {
  // A download of unknown size may begin while any budget is left.
  return limit !== undefined && (used + bytes > limit || used >= limit);
}
